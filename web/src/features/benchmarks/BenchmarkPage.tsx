import { Page } from "@/ui/Page";

export function BenchmarkPage() {
  return <Page title="BenchmarkPage">{null}</Page>;
}
