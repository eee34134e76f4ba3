import { expect, test } from "vitest";

import { measuredCell } from "@/api/exampleCell";
import { dimensionsOf, sizeSeries, variantName, variantOf } from "@/features/benchmarks/results/cells";
import { requestOf, compareCommands, effectiveOf, firstDraft, openDimensions, planWords, turnsOf } from "@/features/benchmarks/add/form";
import { cellName } from "@/format/words";

const cell = (number: number, ms: number, seq: number, width = 8, cores = 1) =>
  measuredCell(ms, 0.1, { number, name: "", engine: "onnxruntime", cores, batch_size: 1, dims: { seq, width } });
const cells = [cell(0, 1, 128), cell(1, 3, 64), cell(2, 5, 64, 16), cell(3, 9, 64, 8, 2)];
const draft = effectiveOf(
  { ...firstDraft([], [], 1, null), engine: "onnxruntime", otherEngine: "openvino", sizes: { seq: [64, 128], width: [8], gone: [2] } },
  null,
  [],
  ["seq", "width"],
);

test("a model's open dimensions are those that a size can be given for", () => {
  const inputs = [
    { name: "ids", shape: ["batch", "seq"] },
    { name: "past", shape: ["batch", 12, "past", "past + 1", null] },
    { name: "mask", shape: null },
  ];
  expect(openDimensions(inputs)).toEqual(["seq", "past", "past.4"]);
});

test("sizes of dimensions that the model does not have are not measured", () => {
  expect(requestOf(draft, 1, "onnxruntime", draft.counts).dims).toEqual({ seq: [64, 128], width: [8] });
  expect(planWords(draft, 2)).toBe("1 core count × 1 batch size × 2 sizes of seq = 2 cells");
});

test("a comparison takes each combination of sizes", () => {
  expect(turnsOf(draft).map(({ sizes }) => sizes)).toEqual([
    { seq: 64, width: 8 },
    { seq: 128, width: 8 },
  ]);
  expect(compareCommands(draft, "a.onnx", "b.onnx")[1]).toBe("modeldyno compare a.onnx@engine=onnxruntime b.onnx@engine=openvino --dim seq=128 --dim width=8");
});

test("a chart goes along the sizes of one dimension and holds everything else", () => {
  const [first] = cells;
  if (!first) throw new Error("no cell");
  expect(dimensionsOf(cells)).toEqual(["seq", "width"]);
  const series = sizeSeries(cells, "seq", first, "ms_batch");
  expect(series.map(({ name, points }) => [name, points.map(({ x, value }) => [x, value])])).toEqual([
    [
      "ONNX Runtime · width 8",
      [
        [64, 3],
        [128, 1],
      ],
    ],
    ["ONNX Runtime · width 16", [[64, 5]]],
  ]);
  expect(variantOf(first)).not.toBe(variantOf(cell(4, 1, 64)));
  expect(variantName(first, cells)).toBe("ONNX Runtime · seq 128 · width 8");
  expect(cellName(first)).toBe("1 core · batch 1 · seq 128 · width 8");
});
