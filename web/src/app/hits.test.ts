import { expect, test } from "vitest";

import { hitsFor, type Hit } from "@/app/hits";

const hit = (label: string, more?: string): Hit => ({ id: label, group: "Pages", label, more, act: () => undefined });
const ALL = [hit("All projects"), hit("Queue"), hit("Benchmark of glyphs", "ResNet"), hit("System")];
const labels = (typed: string) => hitsFor(typed, ALL).map((hit) => hit.label);

test("without a word everything is there, in its order", () => {
  expect(labels("")).toEqual(["All projects", "Queue", "Benchmark of glyphs", "System"]);
});

test("every word must occur, in the name or beside it", () => {
  expect(labels("res gly")).toEqual(["Benchmark of glyphs"]);
  expect(labels("res queue")).toEqual([]);
});

test("what begins with the word comes before what only has it", () => {
  expect(labels("s")[0]).toBe("System");
});
