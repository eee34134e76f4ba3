import { expect, test } from "vitest";

import { measuredCell } from "@/api/exampleCell";
import type { CellDocument } from "@/api/schema.gen";
import { dotsSoFar } from "@/features/project/measuredCells";

const cell = (engine: string, cores: number, value: number | null) =>
  ({
    engine,
    cores,
    batch_size: 1,
    instances: 1,
    device: "cpu",
    precision: null,
    sessions: 7,
    noise: "quiet",
    items: 1,
    latency_ms: value === null ? null : { typical: { value, low: value - 1, high: value + 1 }, floor: null },
  }) as CellDocument;

test("the newest number of a configuration is the one that is drawn", () => {
  const rows = [
    { model_id: 1, model_name: "m", cells: [cell("onnxruntime", 2, 5), cell("onnxruntime", 1, 9)] },
    { model_id: 1, model_name: "m", cells: [cell("onnxruntime", 1, 20), cell("openvino", 1, null)] },
  ];
  const dots = dotsSoFar(rows);
  expect(dots.rows).toEqual(["1 core · batch 1", "2 cores · batch 1"]);
  expect(dots.series.map(({ name, dots: points }) => [name, points.map(({ value }) => value)])).toEqual([["ONNX Runtime", [5, 9]]]);
});

test("numbers of several runs are drawn with the interval of a repeat", () => {
  const measured = measuredCell(4, 0.01);
  const latency = measured.latency_ms;
  if (latency) latency.typical = { ...latency.typical, repeat: { low: 3.5, high: 4.5, level: 0.95, runs: 2 } };
  const [series] = dotsSoFar([{ model_id: 1, model_name: "m", cells: [measured] }]).series;
  expect(series?.dots[0]).toMatchObject({ low: 3.5, high: 4.5 });
});
