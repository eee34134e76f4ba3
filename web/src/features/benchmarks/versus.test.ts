import { expect, test } from "vitest";

import { versusWords } from "@/features/benchmarks/versus";

const versus = { benchmark_id: 1, baseline_cell: 0, cell: 0, why: "", note: "", ratio: { value: 0.5, low: 0.4, high: 0.625 } };

test("a clear difference reads as people say it", () => {
  expect(versusWords(2, { ...versus, verdict: "faster" })).toEqual({ text: "2.00× (1.60–2.50) faster than baseline #1", isClear: true });
  const note = "it computes in int8, the baseline in fp32";
  expect(versusWords(2, { ...versus, verdict: "faster", note })?.text).toBe(`2.00× (1.60–2.50) faster than baseline #1; ${note}`);
  expect(versusWords(2, { ...versus, verdict: "slower", ratio: { value: 2, low: 1.5, high: 2.5 } })?.text).toBe("2.00× (1.50–2.50) slower than baseline #1");
});

test("what is not clear is not ranked", () => {
  expect(versusWords(2, { ...versus, verdict: "inconclusive", ratio: { value: 1, low: 0.9, high: 1.1 } })?.text).toContain("No clear difference");
  expect(versusWords(2, { ...versus, verdict: "inconclusive" })?.text).toContain("No clear difference");
  expect(versusWords(2, { ...versus, verdict: "inconclusive", why: "the number is unusable" })?.text).toContain("No clear difference");
  expect(versusWords(2, { ...versus, verdict: null, ratio: null, why: "no cell in common" })).toEqual({
    text: "Not comparable with baseline #1: no cell in common",
    isClear: false,
  });
  expect(versusWords(1, { ...versus, verdict: "equivalent" })?.text).toBe("This is the baseline");
});

test("a difference that is certain is reported, even if it may not matter", () => {
  const ratio = { value: 1.028, low: 1.015, high: 1.042 };
  expect(versusWords(2, { ...versus, verdict: "inconclusive", ratio })?.text).toBe(
    "Slower than baseline #1; whether by enough to matter is open (1.028× (1.015–1.042) of its time)",
  );
  expect(versusWords(2, { ...versus, verdict: "different-but-small", ratio: { value: 0.99, low: 0.985, high: 0.995 } })?.text).toMatch(
    /^Faster than baseline #1, by too little to matter/,
  );
});
