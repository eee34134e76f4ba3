import { Page } from "@/ui/Page";

export function ProfilePage() {
  return <Page title="ProfilePage">{null}</Page>;
}
