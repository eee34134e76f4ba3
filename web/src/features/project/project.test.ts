import { expect, test } from "vitest";

import type { CellTold, ComparisonTold } from "@/api/schema.gen";
import { dotsSoFar } from "@/features/project/measuredCells";
import { verdictOf } from "@/features/project/verdict";

const cell = (engine: string, cores: number, value: number | null) =>
  ({ engine, cores, batch_size: 1, instances: 1, device: "cpu", precision: null, sessions: 7, noise: "quiet", ms_per_item: value === null ? null : { value, low: value - 1, high: value + 1 } }) as CellTold;

test("the newest number of a configuration is the one that is drawn", () => {
  const rows = [
    { model_id: 1, model_name: "m", cells: [cell("onnxruntime", 2, 5), cell("onnxruntime", 1, 9)] },
    { model_id: 1, model_name: "m", cells: [cell("onnxruntime", 1, 20), cell("openvino", 1, null)] },
  ];
  const dots = dotsSoFar(rows);
  expect(dots.rows).toEqual(["1 core · batch 1", "2 cores · batch 1"]);
  expect(dots.series.map(({ name, dots: found }) => [name, found.map(({ value }) => value)])).toEqual([["ONNX Runtime", [5, 9]]]);
});

const pair = (verdict: string | null, ratio: number) =>
  ({
    pairing: { a: { engine: "onnxruntime", batch_size: 1 }, b: { engine: "openvino", batch_size: 1 } },
    summary: { verdict, ratio, ratio_low: ratio * 0.9, ratio_high: ratio * 1.1 },
  }) as ComparisonTold;

test("a verdict names who is faster, or that nobody is", () => {
  expect(verdictOf(pair("slower", 2))?.sentence).toBe("ONNX Runtime is 2.00× faster than OpenVINO (1.80–2.20, 95 %).");
  expect(verdictOf(pair("faster", 0.5))?.sentence).toBe("OpenVINO is 2.00× faster than ONNX Runtime (1.82–2.22, 95 %).");
  expect(verdictOf(pair("inconclusive", 1))).toMatchObject({ isClear: false });
  expect(verdictOf(pair(null, 1))).toBeNull();
});
