import { Page } from "@/ui/Page";

export function GraphPage() {
  return <Page title="GraphPage">{null}</Page>;
}
