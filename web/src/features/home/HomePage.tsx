import { Page } from "@/ui/Page";

export function HomePage() {
  return <Page title="HomePage">{null}</Page>;
}
