import { expect, test } from "vitest";

import {
  changeSummary,
  changeTable,
  changesOf,
  deltaText,
  shareText,
  sliceSummary,
  sliceTable,
  sliceText,
  standingText,
  type Slice,
} from "@/charts/profileRows";
import { shortName } from "@/charts/profileBars";

const slice = (name: string, ms: number, half: number | null = 0.1): Slice => ({
  name,
  op: name,
  ms,
  interval: half === null ? null : [ms - half, ms + half],
  unknown: null,
  share: ms / 10,
  nodes: 1,
  calls: 1,
  limit: { gflops: null, gbytes: null, bound: null, reason: "" },
});

const figure = (ms: number) => ({ value: ms, low: ms - 0.1, high: ms + 0.1, level: 0.95, of: "repeats" as const, n: 4, needs: null, repeat: null });
const part = (ms: number, op = "Conv") => ({ names: [op], op_types: [op], providers: ["CPU"], nodes: 1, total_ms: figure(ms), unknown: null });

test("changes are as the server aligned them, and repeated names stay distinct", () => {
  const changes = changesOf([
    { name: "conv", standing: "moved", matched_by: "name", verdict: "faster", delta_ms: -3, a: part(5), b: part(2) },
    { name: "conv", standing: "appeared", matched_by: null, verdict: "only in B", delta_ms: 0.7, a: null, b: part(0.7, "Relu") },
  ]);
  expect(changes.map(({ name, a }) => [name, a?.interval ?? null])).toEqual([
    ["conv", [4.9, 5.1]],
    ["conv (2)", null],
  ]);
  expect(changes.map(standingText)).toEqual(["moved, faster", "appeared"]);
  expect(changeSummary(changes)).toBe("In B: 1 faster, 1 appeared, 1 moved. The largest change: conv, −3.00 ms (moved, faster).");
});

test("a summary names no first where intervals overlap", () => {
  expect(sliceSummary([slice("Conv", 5), slice("Gemm", 3)], "operator")).toContain("most of a call goes to Conv: 5.00");
  expect(sliceSummary([slice("Conv", 5, 1), slice("Gemm", 4.5, 1)], "operator")).toContain("no clear difference");
});

test("a time that is not known is a dash with its reason, and stands first nowhere", () => {
  const hidden: Slice = { ...slice("Reshape", 0, null), share: 0, unknown: "recording it costs all of it" };
  expect(sliceText(hidden)).toBe("–");
  expect(shareText(hidden)).toBe("–");
  expect(sliceTable([hidden], "operator").rows).toEqual([["Reshape", 1, null, null, null, null, 1, null, null, null]]);
  expect(sliceSummary([hidden, slice("Conv", 5), slice("Gemm", 3)], "operator")).toContain("3 operators; most of a call goes to Conv");
  const unknown = { ...part(0), unknown: "other work", total_ms: { ...figure(0), value: null, low: null, high: null } };
  const [change] = changesOf([{ name: "conv", standing: "kept", matched_by: "name", verdict: "not comparable", delta_ms: null, a: unknown, b: part(2) }]);
  expect(deltaText(change?.deltaMs ?? null)).toBe("–");
  expect(changeTable(change ? [change] : [], { a: "a", b: "b" }, "operator").rows[0]?.slice(1, 4)).toEqual([null, 2, null]);
});

test("the table has the numbers as they are, and long names keep their ends", () => {
  expect(sliceTable([slice("Conv", 5)], "operator").rows).toEqual([["Conv", 1, 5, 4.9, 5.1, 0.5, 1, null, null, null]]);
  expect(shortName("a".repeat(40) + "/Conv_1")).toMatch(/^….*\/Conv_1$/);
});
