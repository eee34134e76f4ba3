import { Page } from "@/ui/Page";

export function BenchmarksPage() {
  return <Page title="BenchmarksPage">{null}</Page>;
}
