import { describe, expect, test } from "vitest";

import { measuredCell } from "@/api/exampleCell";
import type { FigureColumn } from "@/api/figureColumns";
import type { CellJudgementDocument } from "@/api/parts";
import type { CellDocument } from "@/api/schema.gen";
import { furtherRows } from "@/features/compare/furtherFigures";
import { choicesOf, firstPair, judgementPairs, lineOf, nearestPair, pairName, parsePick, placesOf, sideOf, type Measured } from "@/features/compare/picks";
import { seriesNames } from "@/features/compare/seriesNames";
import { sweetSpot, sweetSpots } from "@/features/compare/sweetSpot";
import { countedSentence } from "@/features/compare/verdicts";

const cell = (number: number, ms: number, more: Partial<CellDocument> = {}): CellDocument => measuredCell(ms, 0.01, { number, ...more });
const measured = (id: number, ...cells: CellDocument[]): Measured => ({ id, name: `b${id}`, model_id: 1, model_name: "m.onnx", cells });

describe("what is picked", () => {
  test("is a benchmark, a cell or an engine of it", () => {
    expect(parsePick("12:10")).toEqual({ benchmark: 12, cell: 10, engine: null });
    expect(parsePick("12@openvino")).toEqual({ benchmark: 12, cell: null, engine: "openvino" });
    expect(parsePick("x")).toBeNull();
  });

  test("is one line only where the batch size alone differs", () => {
    const one = cell(0, 1);
    expect(lineOf(cell(1, 1, { batch_size: 8 }))).toBe(lineOf(one));
    for (const more of [{ cores: 2 }, { instances: 2 }, { streams: 2 }, { device: "cuda" }]) {
      expect(lineOf(cell(1, 1, more))).not.toBe(lineOf(one));
    }
  });

  test("begins with the two newest, or with both engines of the newest", () => {
    const one = measured(1, cell(0, 1));
    const two = measured(2, cell(0, 1), cell(1, 2, { engine: "openvino" }));
    expect(firstPair([one])).toBeNull();
    expect(firstPair([measured(3, cell(0, 1)), one])).toEqual(["1", "3"]);
    expect(firstPair([two, one])).toEqual(["2@onnxruntime", "2@openvino"]);
  });

  test("offers each engine and each cell", () => {
    const [group] = choicesOf([measured(2, cell(0, 1), cell(1, 2, { engine: "openvino" }))]);
    expect(group?.items.map((item) => item.value)).toEqual(["2@onnxruntime", "2@openvino", "2:0", "2:1"]);
  });
});

describe("counterparts", () => {
  const both = measured(2, cell(0, 1), cell(1, 2, { cores: 4 }), cell(2, 3, { engine: "openvino" }), cell(3, 4, { engine: "openvino", batch_size: 8 }));
  const a = sideOf("2@onnxruntime", [both]);
  const b = sideOf("2@openvino", [both]);

  test("of engines are the cells in the same place", () => {
    expect(a && b && judgementPairs(a, b)).toEqual([["2:0", "2:2"]]);
  });

  test("are in the order of cores, then batches", () => {
    expect(a && b && placesOf([a, b])).toEqual(["1 core · batch 1", "1 core · batch 8", "4 cores · batch 1"]);
  });

  test("in two places are named with what they share once", () => {
    expect(pairName(cell(0, 1), cell(1, 1, { batch_size: 8 }))).toBe("1 core · batch 1 / batch 8");
    expect(pairName(cell(0, 1), cell(1, 1, { streams: 2 }))).toBe("1 core · batch 1 / 1 core · batch 1 · 2 streams");
  });

  test("that are missing are replaced by the nearest", () => {
    const far = sideOf("9", [measured(9, cell(0, 1, { batch_size: 64 }), cell(1, 1, { batch_size: 2 }))]);
    expect(a && far && nearestPair(a, far)).toEqual(["2:0", "9:1"]);
  });
});

describe("series", () => {
  const two = measured(2, cell(0, 1), cell(1, 2, { batch_size: 8 }), cell(2, 3, { engine: "openvino", precision: "fp32" }));
  const again = { ...measured(5, cell(0, 1), cell(1, 2, { batch_size: 8 })), name: "b2" };
  const named = (...picks: string[]) => {
    const sides = picks.flatMap((pick) => sideOf(pick, [two, again, { ...measured(7, cell(0, 1)), name: "m.onnx · ONNX Runtime" }]) ?? []);
    const { of, shared } = seriesNames(sides);
    return { names: [...of.values()], shared };
  };

  test("of one benchmark are named by their differences, with its name once", () => {
    expect(named("2:0", "2:1")).toEqual({ names: ["A · batch 1", "B · batch 8"], shared: "b2 · m.onnx · ONNX Runtime · 1 core" });
    expect(named("2:0", "2:2")).toEqual({ names: ["A · ONNX Runtime", "B · OpenVINO · fp32"], shared: "b2 · m.onnx · 1 core · batch 1" });
  });

  test("that differ in nothing go by their numbers", () => {
    expect(named("5", "2@onnxruntime").names).toEqual(["A · #5", "B · #2"]);
  });

  test("say how many batches each has only if they differ in that", () => {
    expect(named("5", "5:1").names).toEqual(["A · batch 1, 8", "B · batch 8"]);
  });

  test("that nobody named go by what was measured", () => {
    expect(named("7", "5:0")).toEqual({ names: ["A · #7", "B · b2"], shared: "m.onnx · ONNX Runtime · 1 core · batch 1" });
    expect(named("7", "2:2").names).toEqual(["A · ONNX Runtime", "B · b2 · OpenVINO · fp32"]);
  });
});

describe("a verdict", () => {
  test("of several cells counts them", () => {
    const of = (faster: "a" | "b" | null, isComparable = true) =>
      ({ faster, ratio: isComparable ? { value: 1, low: 1, high: 1 } : null }) as CellJudgementDocument; // what counting looks at
    expect(countedSentence([of("b"), of("b"), of(null), of(null, false)])).toBe("Of 4 cells: B is faster in 2, no clear difference in 1, not comparable in 1.");
  });
});

describe("the sweet spot", () => {
  const named = (name: string, cell: CellDocument) => ({ name, cell });
  const small = named("batch 1", cell(0, 1));
  const large = named("batch 8", cell(1, 4, { batch_size: 8 }));
  const slow = named("batch 32", cell(2, 12, { batch_size: 32 }));

  test("has the most items per second within the limit", () => {
    const spot = sweetSpot([small, large, slow], 5);
    expect(spot.winners).toEqual([large]);
    expect(spot.reason).toContain("more than the 1 other within 5.00 ms");
  });

  test("keeps the limit with the upper end of its interval", () => {
    expect(sweetSpot([small, large], 4.01).winners).toEqual([small]);
  });

  test("is not one where intervals overlap", () => {
    const twin = named("twin", cell(3, 4.01, { batch_size: 8 }));
    expect(sweetSpot([large, twin], 5).winners).toEqual([large, twin]);
  });

  test("says what is nearest when nothing is quick enough", () => {
    expect(sweetSpot([large, slow], 1).reason).toContain("The quickest is batch 8");
  });
});

test("further figures of both cells stand beside each other", () => {
  const column: FigureColumn = {
    name: "peak_memory_bytes",
    label: "Peak memory",
    format: "bytes",
    unit: "",
    in_lists: "wanted",
    is_among_first: true,
    on_card: true,
  };
  const [a, b] = [measured(1, cell(0, 1, { peak_memory_bytes: 2_500_000 })), measured(2, cell(0, 1))].map((benchmark) =>
    sideOf(String(benchmark.id), [benchmark]),
  );
  if (!a || !b) throw new Error("no sides");
  const pair = { a: { number: 0 }, b: { number: 0 } } as CellJudgementDocument;
  expect(furtherRows(a, b, [pair], [column])).toEqual([{ place: "1 core · batch 1", label: "Peak memory", a: "2.50 MB", b: "–" }]);
  expect(furtherRows(a, b, [pair])).toEqual([]);
});

test("a limit has a best cell for each workload", () => {
  const candidate = (name: string, ms: number, seq: number) => ({ name, cell: measuredCell(ms, 0.01, { name, dims: { seq } }) });
  const spots = sweetSpots([candidate("short", 1, 64), candidate("long", 4, 640), candidate("slow", 8, 640)], 10);
  expect(spots.map(({ of, winners }) => [of, winners.map(({ name }) => name)])).toEqual([
    ["seq 64", ["short"]],
    ["seq 640", ["long"]],
  ]);
});
