import { expect, test } from "vitest";

import { lineageOf } from "@/features/benchmarks/results/lineage";

const rows = [
  { id: 9, rerun_of: 4 },
  { id: 7, rerun_of: null },
  { id: 4, rerun_of: 2 },
  { id: 3, rerun_of: 2 },
  { id: 2, rerun_of: null },
  { id: 8, rerun_of: 1 },
];

test("re-runs of re-runs belong to the first, oldest first", () => {
  expect(lineageOf(4, rows).map(({ id }) => id)).toEqual([2, 3, 4, 9]);
  expect(lineageOf(7, rows).map(({ id }) => id)).toEqual([7]);
});

test("one whose first is gone begins a line of its own", () => {
  expect(lineageOf(8, rows).map(({ id }) => id)).toEqual([8]);
});
