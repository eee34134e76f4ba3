import { expect, test } from "vitest";

import type { DistributionDocument } from "@/api/schema.gen";
import { binsOf, histogramSummary } from "@/charts/histogram";
import { drawIterations, isOutlier, iterationsSummary, iterationsTable } from "@/charts/iterations";
import { look } from "@/charts/palette";

const distribution: DistributionDocument = {
  schema: "modeldyno.distribution/1",
  run_id: "20261115-095116-3fa9c1",
  cell: 0,
  samples: 4,
  sessions: 2,
  points: [
    { session: 0, sample: 0, iteration: 1, ms: 1 },
    { session: 1, sample: 0, iteration: 3, ms: 50 },
  ],
  is_thinned: true,
  samples_per_point: 2,
  histogram: { edges_ms: [1, 1.5, 2], counts: [2, 1], above: 1 },
  mean_ms: 13.4,
  median_ms: 1.3,
  low_ms: 1.1,
  high_ms: 35,
  min_ms: 1,
  max_ms: 50,
  outliers: { limit_ms: 1.65, samples: 1, has_several_peaks: false },
  by_session: [
    { samples: 2, median_ms: 1.1, low_ms: 1, high_ms: 1.2 },
    { samples: 2, median_ms: 26, low_ms: 6, high_ms: 45 },
  ],
  percentiles: [],
};
const iterationsWith = (change: Partial<DistributionDocument> = {}) => ({
  distribution: { ...distribution, ...change },
  typical: null,
  look: (isDark: boolean) => look(0, isDark),
});

test("bins are the server's, and what is far away is in one more", () => {
  expect(binsOf(distribution)).toEqual([
    { from: 1, to: 1.5, count: 2 },
    { from: 1.5, to: 2, count: 1 },
    { from: 2, to: 50, count: 1 },
  ]);
  expect(histogramSummary(binsOf(distribution))).toBe("4 samples; most lie between 1.00 and 1.50 ms per batch.");
});

test("the sentence says how many are outliers, and how many are drawn", () => {
  expect(iterationsSummary(iterationsWith())).toBe(
    "4 iterations, half of them below 1.30 ms per batch; 1 outlier flagged; 1 above the scale, drawn at its top; one of 2 is drawn.",
  );
});

test("so many that they are no exceptions are another peak", () => {
  const outliers = { limit_ms: 1.5, samples: 50, has_several_peaks: true };
  expect(iterationsSummary(iterationsWith({ outliers }))).toContain("more than one peak: 50 took");
  expect(iterationsSummary(iterationsWith({ outliers }))).not.toContain("outlier");
  expect([isOutlier(3, outliers), isOutlier(3, distribution.outliers)]).toEqual([false, true]);
});

test("the table has a line for each session", () => {
  expect(iterationsTable(iterationsWith()).rows).toEqual([
    [1, 2, 1.1, 1, 1.2],
    [2, 2, 26, 6, 45],
  ]);
});

test("points beyond the upper edge are drawn on it", () => {
  const option = drawIterations(iterationsWith())({ isDark: false, ink: "", dim: "", line: "", paper: "" });
  expect(option.series).toMatchObject([
    {
      data: [
        { value: [1, 1], symbol: "circle" },
        { value: [3, 2], symbol: "triangle" },
      ],
    },
    {},
  ]);
});
