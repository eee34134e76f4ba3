import { Page } from "@/ui/Page";

export function ModelPage() {
  return <Page title="ModelPage">{null}</Page>;
}
