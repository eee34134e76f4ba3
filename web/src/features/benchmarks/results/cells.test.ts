import { describe, expect, test } from "vitest";

import { measuredCell } from "@/api/exampleCell";
import { PLANNED } from "@/api/plannedCell.gen";
import type { CellDocument } from "@/api/schema.gen";
import { basisOf, choose, pointsOf, slotsOf, surprisesOf, unusualOutputsOf, variantOf } from "@/features/benchmarks/results/cells";

function cell(number: number, cores: number, batch: number, ms: number | null, engine = "onnxruntime"): CellDocument {
  const axes = { number, name: `${engine} ${cores} ${batch}`, engine, precision: "fp32", batch_size: batch, cores };
  return ms === null ? { ...PLANNED, ...axes, items: batch } : measuredCell(ms, 0.1, axes);
}
const cells = [cell(0, 1, 1, 8), cell(1, 1, 8, 40), cell(2, 4, 1, 3), cell(3, 4, 8, 12)];

describe("drop-downs", () => {
  test("point at the cell of both values", () => {
    expect(choose(cells, { cores: 4, batch: 8 }).chosen?.number).toBe(3);
  });
  test("fall back to what was measured", () => {
    const choice = choose([cell(0, 1, 1, null), cell(1, 2, 1, 5)], { cores: 64, batch: 99 });
    expect([choice.chosen?.number, choice.cores, choice.batches]).toEqual([1, [1, 2], [1]]);
  });
  test("offer every engine by name", () => {
    const both = [...cells, cell(4, 1, 1, 9, "pytorch")];
    expect(choose(both, {}).variants.map(({ label }) => label)).toEqual(["ONNX Runtime", "PyTorch"]);
    expect(choose(both, { engine: variantOf(cell(4, 1, 1, 9, "pytorch")), batch: 8 }).chosen?.number).toBe(4);
  });
});

test("a series holds the other axis still", () => {
  const fixed = cells[1];
  if (!fixed) throw new Error("no cell");
  expect(pointsOf(cells, variantOf(fixed), "cores", fixed, "ms_batch").map(({ x, value }) => [x, value])).toEqual([
    [1, 40],
    [4, 12],
  ]);
  expect(pointsOf(cells, variantOf(fixed), "batch_size", fixed, "ms_item").map(({ x, value }) => [x, value])).toEqual([
    [1, 8],
    [8, 5],
  ]);
});

test("a number says what it rests on", () => {
  expect(basisOf({ sessions: 8, samples: 80, interval_note: null })).toBe("n = 8 sessions");
  expect(basisOf({ sessions: 1, samples: 5, interval_note: "1 session; an interval needs 4" })).toBe("no interval: 1 session; an interval needs 4");
});

test("the progress of a job belongs to its cell by position, or by name", () => {
  const progress = [{ name: "somehow" }, { name: "b" }, { name: "c" }, { name: "d" }];
  expect(slotsOf(cells, progress).map((slot) => slot.progress?.name)).toEqual(["somehow", "b", "c", "d"]);
  expect(slotsOf(cells, [{ name: "onnxruntime 4 1" }]).map((slot) => slot.progress?.name)).toEqual([undefined, undefined, "onnxruntime 4 1", undefined]);
});

test("deviations of engines are separate from unusual outputs", () => {
  const surprises: CellDocument["surprises"] = [
    { about: "precision", text: "asked for fp32, computed in bf16", fix: "" },
    { about: "output", text: "output `y` is the same value everywhere", fix: "" },
  ];
  const odd = measuredCell(1, 0.1, { surprises });
  expect(surprisesOf([odd])).toEqual(["asked for fp32, computed in bf16"]);
  expect(unusualOutputsOf([odd, odd])).toEqual([`${odd.name}: output \`y\` is the same value everywhere`]);
});
