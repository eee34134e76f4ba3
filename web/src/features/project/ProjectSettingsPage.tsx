import { Page } from "@/ui/Page";

export function ProjectSettingsPage() {
  return <Page title="ProjectSettingsPage">{null}</Page>;
}
