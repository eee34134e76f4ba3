import { expect, test } from "vitest";

import { binsOf } from "@/charts/histogram";
import { iterationsSummary, iterationsTable, thinned } from "@/charts/iterations";
import { look } from "@/charts/palette";
import { percentile, shapeOf } from "@/charts/samples";

const ms = Float64Array.from([...Array.from({ length: 99 }, (_, i) => 1 + i / 1000), 50]);

test("percentiles lie between samples", () => {
  expect(percentile(Float64Array.from([1, 2, 3, 4]), 0.5)).toBe(2.5);
  expect(percentile(Float64Array.from([]), 0.5)).toBeNaN();
});

test("outliers are counted, not removed", () => {
  const shape = shapeOf(ms);
  expect([shape.outliers, shape.most]).toEqual([1, 50]);
});

test("so many that they are no exceptions are another peak", () => {
  const two = Float64Array.from([...Array<number>(10).fill(1), ...Array<number>(50).fill(3)]);
  const told = iterationsSummary({ samples: { ms: two, sessions: new Int32Array(60) }, typical: null, look: (isDark) => look(0, isDark) });
  expect(told).toContain("more than one peak");
  expect(told).not.toContain("outlier");
});

test("bins hold every sample once, what is far away in the last", () => {
  const bins = binsOf(ms);
  expect(bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(100);
  expect(bins[bins.length - 1]).toMatchObject({ to: 50, count: 1 });
});

test("a long run is thinned evenly", () => {
  expect(thinned(10, 5)).toEqual([0, 2, 4, 6, 8]);
  expect(thinned(3, 5)).toEqual([0, 1, 2]);
});

test("the table has a line for each session", () => {
  const samples = { ms: Float64Array.from([1, 3, 10, 20, 30]), sessions: Int32Array.from([4, 4, 7, 7, 7]) };
  const table = iterationsTable({ samples, typical: null, look: (isDark) => look(0, isDark) });
  expect(table.rows.map((row) => row.slice(0, 3))).toEqual([[1, 2, 2], [2, 3, 20]]);
});
