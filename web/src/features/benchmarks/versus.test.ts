import { expect, test } from "vitest";

import { versusWords } from "@/features/benchmarks/versus";

const versus = { benchmark_id: 1, baseline_cell: 0, cell: 0, why: "", ratio: { value: 0.5, low: 0.4, high: 0.625 } };

test("a clear difference is told as people say it", () => {
  expect(versusWords(2, { ...versus, verdict: "faster" })).toEqual({ text: "2.00× (1.60–2.50) faster than baseline #1", isClear: true });
  expect(versusWords(2, { ...versus, verdict: "slower", ratio: { value: 2, low: 1.5, high: 2.5 } })?.text).toBe("2.00× (1.50–2.50) slower than baseline #1");
});

test("what is not clear is not ranked", () => {
  expect(versusWords(2, { ...versus, verdict: "inconclusive" })?.text).toContain("No clear difference");
  expect(versusWords(2, { ...versus, verdict: null, ratio: null, why: "no cell in common" })).toEqual({ text: "Not comparable with baseline #1: no cell in common", isClear: false });
  expect(versusWords(1, { ...versus, verdict: "equivalent" })?.text).toBe("This is the baseline");
});
