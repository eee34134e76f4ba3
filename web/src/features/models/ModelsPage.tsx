import { Page } from "@/ui/Page";

export function ModelsPage() {
  return <Page title="ModelsPage">{null}</Page>;
}
