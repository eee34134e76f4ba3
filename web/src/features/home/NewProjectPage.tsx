import { Page } from "@/ui/Page";

export function NewProjectPage() {
  return <Page title="NewProjectPage">{null}</Page>;
}
