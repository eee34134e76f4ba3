import { expect, test } from "vitest";

import { blocksOf, inlineOf, isSafe } from "@/ui/markdownBlocks";

test("a note is headings, paragraphs, lists, quotes, tables and code", () => {
  const kinds = blocksOf("# Title\n\nSome words\nand more\n\n- one\n- two\n  - deeper\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n<b>\n```\n---").map(
    (block) => block.kind,
  );
  expect(kinds).toEqual(["heading", "paragraph", "list", "quote", "table", "code", "rule"]);
});

test("HTML stays text", () => {
  expect(blocksOf("<script>alert(1)</script>")).toEqual([{ kind: "paragraph", parts: [{ kind: "text", text: "<script>alert(1)</script>" }] }]);
});

test("an address that runs something is no link", () => {
  expect(inlineOf("[x](javascript:alert(1))").every((part) => part.kind === "text")).toBe(true);
  expect(["https://a.example", "/p/1", "#top", "javascript:x", "data:text/html,x", "//a.example"].map(isSafe)).toEqual([true, true, true, false, false, false]);
});

test("words are strong, emphasised, struck out or code", () => {
  expect(inlineOf("**a** *b* `c*` ~~d~~ e_f_g").map((part) => part.kind)).toEqual(["strong", "text", "emphasis", "text", "code", "text", "struck", "text"]);
});

test("a task is done or not", () => {
  const [list] = blocksOf("- [x] measured\n- [ ] written\n\n1. first\n2. second");
  expect(list?.kind === "list" && list.items.map((item) => item.isDone)).toEqual([true, false]);
});

test("any text whatever comes to an end", () => {
  for (const text of [
    "- ",
    "* * *",
    "> > > >",
    "|",
    "|-|",
    "```",
    "[](",
    "**",
    "1. \n\n\n2. ",
    "-\n  -\n    - x",
    "_".repeat(300),
    "[".repeat(300),
    "> ".repeat(50),
  ]) {
    expect(Array.isArray(blocksOf(text))).toBe(true);
  }
});
