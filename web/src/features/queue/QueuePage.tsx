import { Page } from "@/ui/Page";

export function QueuePage() {
  return <Page title="QueuePage">{null}</Page>;
}
