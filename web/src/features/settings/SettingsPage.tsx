import { Page } from "@/ui/Page";

export function SettingsPage() {
  return <Page title="SettingsPage">{null}</Page>;
}
