import { Page } from "@/ui/Page";

export function ProfilesPage() {
  return <Page title="ProfilesPage">{null}</Page>;
}
