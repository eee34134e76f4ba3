import { Alert, Button, Card, Group, SegmentedControl, SimpleGrid, Skeleton, Stack, Text, Textarea } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useEffectEvent, useReducer, useRef, useState } from "react";

import { Refused } from "@/api/client";
import { noteQuery, writeNote, type NoteSubject } from "@/api/notes";
import type { NoteDocument } from "@/api/schema.gen";
import { hoursAndMinutes } from "@/format/dates";
import { joinVersions, isClean, isDue, reduceNote, openNote, type DraftedNote, type Written } from "@/ui/draftedNote";
import { Trouble, errorText } from "@/ui/Trouble";

const Markdown = lazy(() => import("@/ui/Markdown").then((module) => ({ default: module.Markdown })));

const PAUSE_MS = 1000;

type Props = NoteSubject & {
  /** The text while there is no note. */
  invitation?: string;
  rows?: number;
};

/** What people write about a thing: read, then edited in place; saved by itself, and never lost. */
export function NoteEditor({ kind, id, invitation = "Nothing written yet.", rows = 8 }: Props) {
  const note = useQuery(noteQuery({ kind, id }));
  if (note.isError) return <Trouble error={note.error} retry={() => void note.refetch()} />;
  if (!note.data) return <Skeleton height={90} />;
  return <Editor key={`${kind} ${id}`} kind={kind} id={id} note={note.data} invitation={invitation} rows={rows} />;
}

function Editor({ kind, id, note, invitation, rows }: Required<Props> & { note: NoteDocument }) {
  const place = `modeldyno.note.${kind}.${id}`;
  const [now, dispatch] = useReducer(reduceNote, null, () => openNote(note, draftAt(place)));
  const [isEditing, setEditing] = useState(!isClean(now));
  const [isPreview, setPreview] = useState(false);
  const cache = useQueryClient();

  const save = useCallback(
    (from: DraftedNote) => {
      dispatch({ kind: "sent", text: from.text });
      writeNote({ kind, id }, from.text, from.stored.version).then(
        (saved) => {
          cache.setQueryData(noteQuery({ kind, id }).queryKey, saved);
          dispatch({ kind: "saved", stored: saved, at: new Date() });
        },
        async (error: unknown) => {
          if (error instanceof Refused && error.status === 412) {
            const theirs = await cache.query({ ...noteQuery({ kind, id }), staleTime: 0 }).catch(() => null);
            if (theirs) {
              dispatch({ kind: "received", stored: theirs });
              return;
            }
          }
          dispatch({ kind: "failed", error });
        },
      );
    },
    [kind, id, cache],
  );
  useEffect(() => dispatch({ kind: "received", stored: note }), [note]);
  const hasDraft = useRef(false);
  useEffect(() => {
    // Only what this tab put there is taken away: another may be writing, too.
    if (!isClean(now)) localStorage.setItem(place, JSON.stringify({ text: now.text, version: now.stored.version }));
    else if (hasDraft.current) localStorage.removeItem(place);
    hasDraft.current = !isClean(now);
  }, [place, now]);
  useEffect(() => {
    if (!isDue(now)) return;
    const timer = setTimeout(() => save(now), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [now, save]);
  const saveLatest = useEffectEvent(() => {
    if (isDue(now)) save(now);
  });
  useEffect(() => () => saveLatest(), []); // the page closes before the pause is over

  if (!isEditing)
    return (
      <Stack gap="xs" align="flex-start">
        {now.text.trim() ? (
          <Suspense fallback={<Skeleton height={60} />}>
            <Markdown text={now.text} />
          </Suspense>
        ) : (
          <Text className="dim" size="sm">
            {invitation}
          </Text>
        )}
        <Group gap="sm">
          <Button size="xs" variant="default" leftSection={<IconPencil size={14} />} onClick={() => setEditing(true)}>
            {now.text.trim() ? "Edit note" : "Write a note"}
          </Button>
          <Standing now={now} />
        </Group>
      </Stack>
    );
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <SegmentedControl
          size="xs"
          value={isPreview ? "preview" : "write"}
          onChange={(value) => setPreview(value === "preview")}
          data={[
            { value: "write", label: "Write" },
            { value: "preview", label: "Preview" },
          ]}
          aria-label="Write or preview"
        />
        <Group gap="sm">
          <Standing now={now} />
          <Button size="xs" variant="default" disabled={now.theirs !== null} onClick={() => setEditing(false)}>
            Done
          </Button>
        </Group>
      </Group>
      {now.theirs && <Conflict now={now} settle={(text) => dispatch({ kind: "settled", text })} />}
      {now.error !== null && (
        <Alert color="red" role="alert" title="Not saved yet; your text is kept in this browser">
          <Group gap="sm">
            <Text size="sm">{errorText(now.error).title}.</Text>
            <Button size="xs" variant="default" onClick={() => save(now)}>
              Save again
            </Button>
          </Group>
        </Alert>
      )}
      {isPreview ? (
        <Card mih={120}>
          <Suspense fallback={<Skeleton height={60} />}>
            <Markdown text={now.text} />
          </Suspense>
        </Card>
      ) : (
        <Textarea
          aria-label="Note"
          description="Markdown: # heading, **strong**, *emphasis*, `code`, - list, [link](https://…)"
          inputWrapperOrder={["input", "description"]}
          autosize
          minRows={rows}
          maxRows={30}
          maxLength={100_000}
          autoFocus // eslint-disable-line jsx-a11y/no-autofocus -- it takes the place of the button that had the focus
          value={now.text}
          onChange={(event) => dispatch({ kind: "typed", text: event.currentTarget.value })}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        />
      )}
    </Stack>
  );
}

function Standing({ now }: { now: DraftedNote }) {
  const words = now.theirs
    ? "Changed elsewhere"
    : now.error !== null
      ? "Not saved"
      : now.sent !== null || !isClean(now)
        ? "Saving…"
        : now.savedAt
          ? `Saved ${hoursAndMinutes(now.savedAt)}`
          : "";
  return (
    <Text size="sm" className="dim" role="status">
      {words}
    </Text>
  );
}

function Conflict({ now, settle }: { now: DraftedNote; settle: (text: string) => void }) {
  const theirs = now.theirs?.text ?? "";
  return (
    <Alert color="orange" role="alert" title="This note was changed elsewhere">
      <Stack gap="sm">
        <Text size="sm">Here are both versions. Choose one, or keep both and tidy up afterwards.</Text>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Version title="Theirs" text={theirs} />
          <Version title="Yours" text={now.text} />
        </SimpleGrid>
        <Group gap="sm">
          <Button size="xs" onClick={() => settle(joinVersions(now))}>
            Keep both
          </Button>
          <Button size="xs" variant="default" onClick={() => settle(now.text)}>
            Keep yours
          </Button>
          <Button size="xs" variant="default" onClick={() => settle(theirs)}>
            Take theirs
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function Version({ title, text }: { title: string; text: string }) {
  return (
    <Card padding="xs" component="section" aria-label={title}>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <Text size="sm" className="mono" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere", maxHeight: 240, overflowY: "auto" }} tabIndex={0}>
        {text || "(empty)"}
      </Text>
    </Card>
  );
}

/** In this browser, too, until the server has it: a closed tab or a stopped server loses nothing. */
function draftAt(place: string): Written | null {
  try {
    const draft: unknown = JSON.parse(localStorage.getItem(place) ?? "null");
    return isWritten(draft) ? draft : null;
  } catch {
    return null;
  }
}

function isWritten(value: unknown): value is Written {
  return (
    typeof value === "object" && value !== null && "text" in value && typeof value.text === "string" && "version" in value && typeof value.version === "number"
  );
}
