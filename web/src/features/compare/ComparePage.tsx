import { Page } from "@/ui/Page";

export function ComparePage() {
  return <Page title="ComparePage">{null}</Page>;
}
