/** A note while it is edited. Pure: an event goes in, the new state comes out. */

export type Written = { text: string; version: number };

export type DraftedNote = {
  /** What the server has, as far as we know. */
  stored: Written;
  /** The text in the editor. */
  text: string;
  /** On its way to the server. */
  sent: string | null;
  /** Somebody else wrote meanwhile, and what we have differs from both. */
  theirs: Written | null;
  savedAt: Date | null;
  error: unknown;
};

export type Happened =
  | { kind: "typed"; text: string }
  | { kind: "sent"; text: string }
  | { kind: "saved"; stored: Written; at: Date }
  | { kind: "received"; stored: Written } // from the server: now, or after an event
  | { kind: "failed"; error: unknown }
  | { kind: "settled"; text: string }; // the conflict is resolved with this text

export const openNote = (stored: Written, drafted: Written | null): DraftedNote => {
  const fresh: DraftedNote = { stored, text: stored.text, sent: null, theirs: null, savedAt: null, error: null };
  if (!drafted || drafted.text === stored.text) return fresh;
  // A draft that never arrived: it is continued, or if the note has changed since, both versions are shown.
  return { ...fresh, text: drafted.text, theirs: drafted.version === stored.version ? null : stored };
};

export function reduceNote(now: DraftedNote, happened: Happened): DraftedNote {
  switch (happened.kind) {
    case "typed":
      return { ...now, text: happened.text, error: null };
    case "sent":
      return { ...now, sent: happened.text, error: null };
    case "saved":
      return { ...now, stored: happened.stored, sent: null, savedAt: happened.at, error: null };
    case "received":
      return receive(now, happened.stored);
    case "failed":
      return { ...now, sent: null, error: happened.error };
    case "settled":
      return now.theirs ? { ...now, stored: now.theirs, text: happened.text, theirs: null, error: null } : now;
    default:
      return happened satisfies never;
  }
}

function receive(now: DraftedNote, stored: Written): DraftedNote {
  if (stored.version <= now.stored.version && !now.theirs) return now;
  if (stored.text === now.text) return { ...now, stored, theirs: null, sent: null };
  if (stored.text === now.sent) return { ...now, stored }; // our own, before its answer came
  if (isClean(now)) return { ...now, stored, text: stored.text };
  return { ...now, theirs: stored, sent: null };
}

export const isClean = (now: DraftedNote): boolean => now.text === now.stored.text;

/** Whether something waits to be saved that may be saved now. */
export const isDue = (now: DraftedNote): boolean => !isClean(now) && now.sent === null && now.theirs === null && now.error === null;

/** Theirs first, then ours: nothing of either is lost. */
export const joinVersions = (now: DraftedNote): string => `${now.theirs?.text ?? ""}\n\n---\n\n${now.text}`;
