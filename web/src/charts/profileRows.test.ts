import { expect, test } from "vitest";

import { changeSummary, changesOf, sliceSummary, sliceTable, type Slice } from "@/charts/profileRows";
import { short } from "@/charts/profileBars";

const slice = (name: string, ms: number, half: number | null = 0.1): Slice => ({
  name, op: name, ms, interval: half === null ? null : [ms - half, ms + half], share: ms / 10, nodes: 1, calls: 1,
});

test("changes are sorted by how large they are, and what overlaps is not ranked", () => {
  const changes = changesOf(
    [slice("Conv", 5), slice("Relu", 1), slice("Gemm", 2), slice("Pool", 0.5, null), slice("Add", 0.3)],
    [slice("Conv", 2), slice("Relu", 1.1), slice("Gemm", 2.5), slice("Pool", 0.9, null), slice("QuantizeLinear", 0.7)],
  );
  expect(changes.map(({ name, verdict }) => [name, verdict])).toEqual([
    ["Conv", "faster"],
    ["QuantizeLinear", "only in B"],
    ["Gemm", "slower"],
    ["Pool", "no clear difference"],
    ["Add", "only in A"],
    ["Relu", "no clear difference"],
  ]);
  expect(changeSummary(changes)).toContain("Conv, −3.00 ms (faster)");
});

test("a node that ran twice under one name is one", () => {
  expect(changesOf([slice("n", 1), slice("n", 2)], [slice("n", 3)])[0]?.deltaMs).toBe(0);
});

test("a summary names no first where intervals overlap", () => {
  expect(sliceSummary([slice("Conv", 5), slice("Gemm", 3)], "operator")).toContain("most of a call goes to Conv: 5.00");
  expect(sliceSummary([slice("Conv", 5, 1), slice("Gemm", 4.5, 1)], "operator")).toContain("no clear difference");
});

test("the table has the numbers as they are, and long names keep their ends", () => {
  expect(sliceTable([slice("Conv", 5)], "operator").rows).toEqual([["Conv", 1, 5, 4.9, 5.1, 0.5, 1]]);
  expect(short("a".repeat(40) + "/Conv_1")).toMatch(/^….*\/Conv_1$/);
});
