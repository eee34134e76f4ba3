import type { ChangeDocument } from "@/api/parts";
import type { ProfileDocument, TimeDocument } from "@/api/schema.gen";
import type { ChartTable } from "@/charts/Chart";
import { NOTHING, decimals, intervalOf, percent, fixedText, plural, quantity, type Interval } from "@/format/numbers";

/** A part of a call: a node, or all nodes of one operator. `unknown` is why neither time nor share is known; both are 0 then. */
export type Slice = {
  name: string;
  op: string;
  ms: number;
  interval: Interval | null;
  unknown: string | null;
  share: number;
  nodes: number;
  calls: number;
  limit: Limit;
};
export const shareText = (slice: Slice): string => (slice.unknown === null ? percent(slice.share, 1) : NOTHING);

/** What it reached, and what kept it from more. */
export type Limit = { gflops: number | null; gbytes: number | null; bound: "compute" | "memory" | "overhead" | null; reason: string };
export type By = "operator" | "node";

/** The slowest first. */
export function slicesOf(profile: ProfileDocument, by: By): Slice[] {
  if (by === "operator") {
    return profile.operators.map((one) => ({ ...of(one), name: one.op_type, nodes: one.nodes }));
  }
  return profile.nodes.map((one) => ({ ...of(one), name: one.node ?? one.op_type, nodes: 1 }));
}

function of(row: TimeDocument): Omit<Slice, "name" | "nodes"> {
  const { gflop_per_s, gbyte_per_s, bound, bound_reason } = row.work;
  const limit = { gflops: gflop_per_s, gbytes: gbyte_per_s, bound, reason: bound_reason };
  const { op_type: op, calls, unknown } = row;
  return { op, ms: row.total_ms.value ?? 0, interval: intervalOf(row.total_ms), unknown, share: row.share ?? 0, calls, limit };
}

export type Unit = { name: "ms" | "µs"; of: number };
export const MS: Unit = { name: "ms", of: 1 };

/** One unit for all of them: that of the largest. */
export function unitOf(slices: readonly Pick<Slice, "ms">[]): Unit {
  return slices.every((one) => one.ms < 0.5) ? { name: "µs", of: 1000 } : MS;
}

export function sliceText(slice: Pick<Slice, "ms" | "interval" | "unknown">, unit: Unit = unitOf([slice])): string {
  if (slice.unknown !== null) return NOTHING;
  const interval: Interval | null = slice.interval && [slice.interval[0] * unit.of, slice.interval[1] * unit.of];
  const told = quantity(slice.ms * unit.of, interval, unit.name);
  return `${told.value}${told.spread?.startsWith("±") ? ` ${told.spread}` : told.spread ? ` (${told.spread})` : ""} ${unit.name}`;
}

export function sliceTable(slices: readonly Slice[], by: By): ChartTable {
  return {
    columns: [
      by === "operator" ? "operator" : "node",
      ...(by === "node" ? ["operator"] : ["nodes"]),
      "ms",
      "95 % low, over repeats",
      "95 % high, over repeats",
      "share",
      "calls",
      "GFLOP/s",
      "GB/s",
      "limit",
    ],
    rows: slices.map((one) => [
      one.name,
      by === "node" ? one.op : one.nodes,
      one.unknown === null ? one.ms : null,
      one.interval?.[0] ?? null,
      one.interval?.[1] ?? null,
      one.unknown === null ? one.share : null,
      one.calls,
      one.limit.gflops,
      one.limit.gbytes,
      one.limit.bound,
    ]),
  };
}

export function sliceSummary(slices: readonly Slice[], by: By): string {
  const [first, second] = slices.filter((one) => one.unknown === null);
  if (!first) return slices.length === 0 ? "The profiler recorded nothing." : "The time of no part of a call is known.";
  const what = by === "operator" ? plural(slices.length, "operator") : plural(slices.length, "node");
  const next = second ? `, then ${second.name} (${percent(second.share)})` : "";
  if (second && !(first.interval && second.interval)) {
    return `${what}; ${first.name} takes ${percent(first.share)} of a call, ${second.name} ${percent(second.share)}; too few repeats for an interval.`;
  }
  // Where intervals overlap, there is no first.
  const isSure = !second || isApart(first, second);
  return isSure
    ? `${what}; most of a call goes to ${first.name}: ${sliceText(first)} (${percent(first.share)})${next}.`
    : `${what}; ${first.name} (${percent(first.share)}) and ${second.name} (${percent(second.share)}) take most, with no clear difference between them.`;
}

/** A side of a change: one node, or several that do the work of the other side's. */
export type Side = Pick<Slice, "ms" | "interval" | "unknown" | "nodes"> & { names: readonly string[]; ops: readonly string[] };
export type Change = {
  name: string;
  a: Side | null;
  b: Side | null;
  deltaMs: number | null; // null: one of the two is not known
  verdict: ChangeDocument["verdict"];
  standing: ChangeDocument["standing"];
  matchedBy: ChangeDocument["matched_by"];
};

/** As the server aligned them, the largest first; names that repeat are told apart, since charts find rows by them. */
export function changesOf(told: readonly ChangeDocument[]): Change[] {
  const seen = new Map<string, number>();
  return told.map((one) => {
    const count = (seen.get(one.name) ?? 0) + 1;
    seen.set(one.name, count);
    return {
      name: count === 1 ? one.name : `${one.name} (${count})`,
      a: sideOf(one.a),
      b: sideOf(one.b),
      deltaMs: one.delta_ms,
      verdict: one.verdict,
      standing: one.standing,
      matchedBy: one.matched_by,
    };
  });
}

function sideOf(part: ChangeDocument["a"]): Side | null {
  if (!part) return null;
  const { unknown, nodes, names, op_types: ops } = part;
  return { ms: part.total_ms.value ?? 0, interval: intervalOf(part.total_ms), unknown, nodes, names, ops };
}

/** "slower", and "moved, slower" where it stands elsewhere now. */
export function standingText(change: Pick<Change, "standing" | "verdict">): string {
  if (change.standing === "appeared" || change.standing === "vanished") return change.standing;
  return change.standing === "moved" ? `moved, ${change.verdict}` : change.verdict;
}

/** "Conv + Relu": what a side ran, with how many nodes where that is not one. */
export function ranText(side: Side | null): string {
  if (!side) return NOTHING;
  const ops = side.ops.join(" + ");
  return side.nodes === 1 ? ops : `${ops} (${plural(side.nodes, "node")})`;
}

function isApart(a: Slice, b: Slice): boolean {
  if (!a.interval || !b.interval) return false;
  return a.interval[1] < b.interval[0] || b.interval[1] < a.interval[0];
}

export function deltaText(ms: number | null, unit: Unit = unitOf([{ ms: Math.abs(ms ?? 0) }])): string {
  if (ms === null) return NOTHING;
  const scaled = ms * unit.of;
  return ms === 0 ? `0 ${unit.name}` : `${ms > 0 ? "+" : ""}${fixedText(scaled, decimals(scaled, 3))} ${unit.name}`;
}

/** Of both sides together. */
export function unitOfChanges(changes: readonly Change[]): Unit {
  return unitOf(changes.map((one) => ({ ms: Math.max(one.a?.ms ?? 0, one.b?.ms ?? 0) })));
}

export function changeTable(changes: readonly Change[], names: { a: string; b: string }, by: By): ChartTable {
  return {
    columns: [by === "operator" ? "operator" : "node", `${names.a} (A), ms`, `${names.b} (B), ms`, "B − A, ms", "in A", "in B", "what", "change"],
    rows: changes.map((one) => [one.name, knownMs(one.a), knownMs(one.b), one.deltaMs, ranText(one.a), ranText(one.b), one.standing, one.verdict]),
  };
}

const knownMs = (side: Side | null): number | null => (side?.unknown === null ? side.ms : null);

export function changeSummary(changes: readonly Change[]): string {
  const words = changes.map((one) => (one.standing === "appeared" || one.standing === "vanished" ? one.standing : one.verdict));
  const parts = [...new Set(words)].map((word) => `${words.filter((one) => one === word).length} ${word}`);
  const moved = changes.filter((one) => one.standing === "moved").length;
  if (moved > 0) parts.push(`${moved} moved`);
  const [first] = changes;
  return first
    ? `In B: ${parts.join(", ")}. The largest change: ${first.name}, ${deltaText(first.deltaMs)} (${standingText(first)}).`
    : `Nothing to compare: ${NOTHING}`;
}
