import { expect, test } from "vitest";

import { both, isClean, isDue, next, opened } from "@/ui/draftedNote";

const kept = { text: "old", version: 1 };
const typed = next(opened(kept, null), { kind: "typed", text: "mine" });

test("what was typed is due, until it is sent", () => {
  expect(isDue(opened(kept, null))).toBe(false);
  expect(isDue(typed)).toBe(true);
  expect(isDue(next(typed, { kind: "sent", text: "mine" }))).toBe(false);
});

test("what was typed while it was saved is due afterwards", () => {
  const more = next(next(typed, { kind: "sent", text: "mine" }), { kind: "typed", text: "mine, too" });
  const saved = next(more, { kind: "saved", kept: { text: "mine", version: 2 }, at: new Date() });
  expect([saved.text, isDue(saved)]).toEqual(["mine, too", true]);
});

test("who has typed nothing sees what others write", () => {
  expect(next(opened(kept, null), { kind: "heard", kept: { text: "theirs", version: 2 } }).text).toBe("theirs");
});

test("who has typed keeps it, and sees theirs beside it", () => {
  const found = next(typed, { kind: "heard", kept: { text: "theirs", version: 2 } });
  expect([found.text, found.theirs?.text, isDue(found)]).toEqual(["mine", "theirs", false]);
  const settled = next(found, { kind: "settled", text: both(found) });
  expect([settled.kept.version, settled.text.includes("mine"), settled.text.includes("theirs"), isDue(settled)]).toEqual([2, true, true, true]);
});

test("our own change is none of others", () => {
  const sent = next(typed, { kind: "sent", text: "mine" });
  expect(next(sent, { kind: "heard", kept: { text: "mine", version: 2 } }).theirs).toBeNull();
});

test("a draft that never arrived is found again", () => {
  expect(opened(kept, { text: "mine", version: 1 })).toMatchObject({ text: "mine", theirs: null });
  expect(opened({ text: "theirs", version: 2 }, { text: "mine", version: 1 })).toMatchObject({ text: "mine", theirs: { text: "theirs" } });
  expect(isClean(opened(kept, { text: "old", version: 0 }))).toBe(true);
});
