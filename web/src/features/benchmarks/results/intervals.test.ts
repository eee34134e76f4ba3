import { expect, test } from "vitest";

import { figureAround, measuredCell } from "@/api/exampleCell";
import { itemsPerSecond, toMeasuredFigure, msPerBatch, msPerItem, withinRun } from "@/api/figures";
import { pointsOf, basisOf, variantOf } from "@/features/benchmarks/results/cells";
import { intervalOf, quantity } from "@/format/numbers";
import { intervalWords } from "@/format/words";

const repeat = { low: 3.39, high: 3.83, level: 0.95, runs: 3 };
const figure = { ...figureAround(3.61, 0.01), repeat };

test("where one ± is shown, it is that of a repeat, and the text says so", () => {
  const measured = toMeasuredFigure(figure);
  expect(measured).toMatchObject({ value: 3.61, low: 3.39, high: 3.83, of: "repeat" });
  expect(intervalWords(measured)).toBe("± of a repeat; ±1.0 % within this run");
});

test("the digits of a number follow the interval of a repeat", () => {
  const measured = toMeasuredFigure(figure);
  expect(measured && quantity(measured.value, intervalOf(measured), "ms")).toEqual({ value: "3.61", spread: "±0.22", unit: "ms" });
  const own = withinRun(measured);
  expect(own && quantity(own.value, intervalOf(own), "ms")).toEqual({ value: "3.610", spread: "±0.036", unit: "ms" });
});

test("without a repeat the ± is over the sessions of the run, and of a profile over its repeats", () => {
  expect(intervalWords(toMeasuredFigure(figureAround(5, 0.1)))).toBe("± over the sessions of this run");
  expect(intervalWords(toMeasuredFigure({ ...figureAround(5, 0.1), of: "repeats" }))).toBe("± over the repeats of this run");
});

test("an interval within sessions is not shown", () => {
  const few = toMeasuredFigure({ ...figureAround(5, 0.1), of: "samples" });
  expect(few).toMatchObject({ value: 5, low: null, high: null });
  expect(intervalWords(few)).toBe("");
});

test("a part of a batch has a part of both intervals", () => {
  const cell = measuredCell(8, 0.1, { batch_size: 4 });
  if (cell.latency_ms) cell.latency_ms.typical = { ...cell.latency_ms.typical, repeat: { ...repeat, low: 6, high: 10 } };
  expect(msPerItem(cell)).toMatchObject({ value: 2, low: 1.5, high: 2.5 });
  expect(msPerItem(cell)?.own.low).toBeCloseTo(1.8);
  expect(basisOf(cell, msPerItem(cell))).toBe("n = 8 sessions · ± of a repeat; ±10.0 % within this run");
  expect(basisOf(cell, itemsPerSecond(cell))).toBe("n = 8 sessions · ± over the sessions of this run");
});

test("charts of one run draw intervals within it", () => {
  const cell = measuredCell(3.61, 0.01, { engine: "onnxruntime", cores: 1 });
  if (cell.latency_ms) cell.latency_ms.typical = figure;
  const [point] = pointsOf([cell], variantOf(cell), "cores", cell, "ms_batch");
  expect(point?.low).toBe(figure.low);
  expect(msPerBatch(cell)?.own.high).toBe(figure.high);
});
