/** A note while somebody writes it. Pure: what happened goes in, what is to be shown and done comes out. */

export type Written = { text: string; version: number };

export type DraftedNote = {
  /** What the server has, as far as we know. */
  kept: Written;
  /** What stands in the editor. */
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
  | { kind: "saved"; kept: Written; at: Date }
  | { kind: "heard"; kept: Written } // from the server: now, or after an event
  | { kind: "failed"; error: unknown }
  | { kind: "settled"; text: string }; // the conflict is over, and this is what shall be

export const opened = (kept: Written, drafted: Written | null): DraftedNote => {
  const fresh: DraftedNote = { kept, text: kept.text, sent: null, theirs: null, savedAt: null, error: null };
  if (!drafted || drafted.text === kept.text) return fresh;
  // A draft that never arrived: it goes on, or it and what was written since are both shown.
  return { ...fresh, text: drafted.text, theirs: drafted.version === kept.version ? null : kept };
};

export function next(now: DraftedNote, happened: Happened): DraftedNote {
  switch (happened.kind) {
    case "typed":
      return { ...now, text: happened.text, error: null };
    case "sent":
      return { ...now, sent: happened.text, error: null };
    case "saved":
      return { ...now, kept: happened.kept, sent: null, savedAt: happened.at, error: null };
    case "heard":
      return heard(now, happened.kept);
    case "failed":
      return { ...now, sent: null, error: happened.error };
    case "settled":
      return now.theirs ? { ...now, kept: now.theirs, text: happened.text, theirs: null, error: null } : now;
    default:
      return happened satisfies never;
  }
}

function heard(now: DraftedNote, kept: Written): DraftedNote {
  if (kept.version <= now.kept.version && !now.theirs) return now;
  if (kept.text === now.text) return { ...now, kept, theirs: null, sent: null };
  if (kept.text === now.sent) return { ...now, kept }; // our own, before its answer came
  if (isClean(now)) return { ...now, kept, text: kept.text };
  return { ...now, theirs: kept, sent: null };
}

export const isClean = (now: DraftedNote): boolean => now.text === now.kept.text;

/** Whether something waits to be saved that may be saved now. */
export const isDue = (now: DraftedNote): boolean => !isClean(now) && now.sent === null && now.theirs === null && now.error === null;

/** Theirs first, then ours: nothing of either is lost. */
export const both = (now: DraftedNote): string => `${now.theirs?.text ?? ""}\n\n---\n\n${now.text}`;
