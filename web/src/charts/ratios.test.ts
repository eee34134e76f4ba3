import { expect, test } from "vitest";

import { verdictText, axisEdges } from "@/charts/ratios";

const ratio = (low: number, high: number) => ({ low, high, faster: null });

test("a ratio that says nothing does not stretch the axis", () => {
  expect(axisEdges([ratio(0.9, 1.3), ratio(0.04, 47)])).toEqual({ low: 0.9, high: 1.3 });
  expect(axisEdges([ratio(0.04, 47)])).toEqual({ low: 0.5, high: 2 });
  expect([verdictText(ratio(0.9, 1.3)), verdictText(ratio(0.04, 47))]).toEqual(["no clear difference", "unusable: the interval is too wide"]);
});

test("a wide interval is no reason to doubt a clear verdict", () => {
  const clear = { low: 0.1, high: 0.5, faster: "b" as const };
  expect(verdictText(clear)).toBe("B is faster");
  expect(axisEdges([clear])).toEqual({ low: 0.1, high: 1 });
});
