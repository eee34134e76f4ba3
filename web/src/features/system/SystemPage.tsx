import { Page } from "@/ui/Page";

export function SystemPage() {
  return <Page title="SystemPage">{null}</Page>;
}
