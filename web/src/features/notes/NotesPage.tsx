import { Page } from "@/ui/Page";

export function NotesPage() {
  return <Page title="NotesPage">{null}</Page>;
}
