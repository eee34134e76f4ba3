import { expect, test } from "vitest";

import { joinVersions, isClean, isDue, reduceNote, openNote } from "@/ui/draftedNote";

const stored = { text: "old", version: 1 };
const typed = reduceNote(openNote(stored, null), { kind: "typed", text: "mine" });

test("what was typed is due, until it is sent", () => {
  expect(isDue(openNote(stored, null))).toBe(false);
  expect(isDue(typed)).toBe(true);
  expect(isDue(reduceNote(typed, { kind: "sent", text: "mine" }))).toBe(false);
});

test("what was typed while it was saved is due afterwards", () => {
  const more = reduceNote(reduceNote(typed, { kind: "sent", text: "mine" }), { kind: "typed", text: "mine, too" });
  const saved = reduceNote(more, { kind: "saved", stored: { text: "mine", version: 2 }, at: new Date() });
  expect([saved.text, isDue(saved)]).toEqual(["mine, too", true]);
});

test("who has typed nothing sees what others write", () => {
  expect(reduceNote(openNote(stored, null), { kind: "received", stored: { text: "theirs", version: 2 } }).text).toBe("theirs");
});

test("who has typed keeps it, and sees theirs beside it", () => {
  const merged = reduceNote(typed, { kind: "received", stored: { text: "theirs", version: 2 } });
  expect([merged.text, merged.theirs?.text, isDue(merged)]).toEqual(["mine", "theirs", false]);
  const settled = reduceNote(merged, { kind: "settled", text: joinVersions(merged) });
  expect([settled.stored.version, settled.text.includes("mine"), settled.text.includes("theirs"), isDue(settled)]).toEqual([2, true, true, true]);
});

test("our own change is none of others", () => {
  const sent = reduceNote(typed, { kind: "sent", text: "mine" });
  expect(reduceNote(sent, { kind: "received", stored: { text: "mine", version: 2 } }).theirs).toBeNull();
});

test("a draft that never arrived is restored", () => {
  expect(openNote(stored, { text: "mine", version: 1 })).toMatchObject({ text: "mine", theirs: null });
  expect(openNote({ text: "theirs", version: 2 }, { text: "mine", version: 1 })).toMatchObject({ text: "mine", theirs: { text: "theirs" } });
  expect(isClean(openNote(stored, { text: "old", version: 0 }))).toBe(true);
});
