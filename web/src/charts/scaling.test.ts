import { describe, expect, test } from "vitest";

import { look } from "@/charts/palette";
import { drawScaling, efficiencies, idealOf, overlap, scalingSummary, scalingTable, xsOf, type Point, type Scaling } from "@/charts/scaling";

const point = (x: number, value: number | null, isNoisy = false): Point => ({
  x,
  value,
  low: value === null ? null : value * 0.9,
  high: value === null ? null : value * 1.1,
  sessions: value === null ? null : 8,
  isNoisy,
});
const scaling = (points: Point[]): Scaling => ({
  along: "cores",
  metric: "ms per item",
  unit: "ms",
  isRate: false,
  hasIdeal: true,
  intervals: "this run",
  series: [{ name: "ONNX Runtime", look: (isDark) => look(0, isDark), points }],
});

describe("perfect scaling", () => {
  test("halves a time and doubles a rate", () => {
    expect(idealOf([point(1, 8), point(2, 5), point(4, 3)], false).map(({ value }) => value)).toEqual([8, 4, 2]);
    expect(idealOf([point(1, 10), point(4, 30)], true).map(({ value }) => value)).toEqual([10, 40]);
  });
  test("begins at the fewest cores that were measured", () => {
    expect(idealOf([point(2, 6), point(4, 4), point(1, null)], false)).toEqual([
      { x: 2, value: 6 },
      { x: 4, value: 3 },
    ]);
  });
  test("is reached by a share", () => {
    expect(efficiencies([point(1, 8), point(4, 4)], false).get(4)).toBe(0.5);
    expect(efficiencies([point(1, 10), point(4, 30)], true).get(4)).toBe(0.75);
  });
});

test("every measured value is on the axis, in order", () => {
  const option = drawScaling(scaling([point(32, 2), point(1, 8), point(8, 4)]))({ isDark: false, ink: "", dim: "", line: "", paper: "#fff" });
  expect(option.xAxis).toMatchObject({ type: "category", data: ["1", "8", "32"], axisLabel: { interval: 0 } });
  expect(xsOf(scaling([point(2, 1), point(1, 2)]).series)).toEqual([1, 2]);
});

test("a noisy cell is hollow, and one without a number is not drawn", () => {
  const option = drawScaling(scaling([point(1, 8, true), point(2, 4), point(4, null)]))({ isDark: false, ink: "", dim: "", line: "", paper: "#fff" });
  const [line] = option.series as { data: { value: unknown; itemStyle: { color: string } }[] }[];
  expect(line?.data.map(({ value }) => value)).toEqual([
    ["1", 8],
    ["2", 4],
  ]);
  expect(line?.data[0]?.itemStyle.color).toBe("#fff");
  expect(line?.data[1]?.itemStyle.color).not.toBe("#fff");
});

test("the table has the numbers as they were given", () => {
  expect(scalingTable(scaling([point(1, 8), point(2, null)])).rows).toEqual([
    ["ONNX Runtime", 1, 8, 7.2, 8.8, 8, "", null],
    ["ONNX Runtime", 2, null, null, null, null, "", null],
  ]);
});

test("the summary says where", () => {
  expect(scalingSummary(scaling([point(1, 8), point(2, 4)]))).toBe("ONNX Runtime: from 8.00 ms at 1 core to 4.00 ms at 2 cores.");
  expect(scalingSummary({ ...scaling([point(1, 8), point(8, 4)]), along: "batch size" })).toContain("4.00 ms at batch size 8");
});

test("a point without an interval counts as overlapping", () => {
  expect(overlap(point(1, 8), point(2, 4))).toBe(false);
  expect(overlap(point(1, 8), { ...point(2, 4), low: null })).toBe(true);
});
