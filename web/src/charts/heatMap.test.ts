import { expect, test } from "vitest";

import { heatMapSummary, textColorOn, shade, squareOf, type HeatMap } from "@/charts/heatMap";

const square = (cores: number, batch: number, value: number | null) => ({ cores, batch, value, low: null, high: null, sessions: 7, isNoisy: false });
const map: HeatMap = { metric: "ms per item", unit: "ms", isRate: false, squares: [square(1, 1, 10), square(2, 1, 1), square(1, 8, null), square(2, 8, 0.1)] };

test("the quickest has the strongest tone, and tones follow the magnitude", () => {
  expect([10, 1, 0.1].map((value) => shade(value, map).toFixed(3))).toEqual(["0.000", "0.500", "1.000"]);
  expect(shade(10, { ...map, isRate: true })).toBe(1);
  expect(shade(3, { ...map, squares: [square(1, 1, 3)] })).toBe(0.5);
});

test("words keep apart from every tone", () => {
  expect(textColorOn([234, 244, 251])).toBe("#000000");
  expect(textColorOn([11, 90, 140])).toBe("#ffffff");
});

test("a name identifies its square, and the summary ranks nothing", () => {
  expect(squareOf("2 × 8")).toEqual({ cores: 2, batch: 8 });
  expect(squareOf("cores")).toBeNull();
  expect(heatMapSummary(map)).toBe("From 0.100 ms at 2 cores, batch 8 to 10.0 ms at 1 core, batch 1.");
});
