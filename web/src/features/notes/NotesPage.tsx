import { Card } from "@mantine/core";
import { useParams } from "@tanstack/react-router";

import { NoteEditor } from "@/ui/NoteEditor";
import { Page } from "@/ui/Page";

export function NotesPage() {
  const { pid } = useParams({ from: "/p/$pid/notes" });
  return (
    <Page title="Notes">
      <Card>
        <NoteEditor
          kind="project"
          id={pid}
          rows={16}
          invitation="Nothing written yet. Note what you want to find out, on which machine, and what you decided: whoever opens this project later will thank you."
        />
      </Card>
    </Page>
  );
}
