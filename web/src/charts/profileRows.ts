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

/** The rates that it reached, and what limits it. */
export type Limit = { gflops: number | null; gbytes: number | null; bound: "compute" | "memory" | "overhead" | null; reason: string };
export type By = "operator" | "node";

/** The slowest first. */
export function slicesOf(profile: ProfileDocument, by: By): Slice[] {
  if (by === "operator") {
    return profile.operators.map((row) => ({ ...sliceFrom(row), name: row.op_type, nodes: row.nodes }));
  }
  return profile.nodes.map((row) => ({ ...sliceFrom(row), name: row.node ?? row.op_type, nodes: 1 }));
}

function sliceFrom(row: TimeDocument): Omit<Slice, "name" | "nodes"> {
  const { gflop_per_s, gbyte_per_s, bound, bound_reason } = row.work;
  const limit = { gflops: gflop_per_s, gbytes: gbyte_per_s, bound, reason: bound_reason };
  const { op_type: op, calls, unknown } = row;
  return { op, ms: row.total_ms.value ?? 0, interval: intervalOf(row.total_ms), unknown, share: row.share ?? 0, calls, limit };
}

export type Unit = { name: "ms" | "µs"; of: number };
export const MS: Unit = { name: "ms", of: 1 };

/** One unit for all of them: that of the largest. */
export function unitOf(slices: readonly Pick<Slice, "ms">[]): Unit {
  return slices.every((slice) => slice.ms < 0.5) ? { name: "µs", of: 1000 } : MS;
}

export function sliceText(slice: Pick<Slice, "ms" | "interval" | "unknown">, unit: Unit = unitOf([slice])): string {
  if (slice.unknown !== null) return NOTHING;
  const interval: Interval | null = slice.interval && [slice.interval[0] * unit.of, slice.interval[1] * unit.of];
  const figure = quantity(slice.ms * unit.of, interval, unit.name);
  return `${figure.value}${figure.spread?.startsWith("±") ? ` ${figure.spread}` : figure.spread ? ` (${figure.spread})` : ""} ${unit.name}`;
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
    rows: slices.map((slice) => [
      slice.name,
      by === "node" ? slice.op : slice.nodes,
      slice.unknown === null ? slice.ms : null,
      slice.interval?.[0] ?? null,
      slice.interval?.[1] ?? null,
      slice.unknown === null ? slice.share : null,
      slice.calls,
      slice.limit.gflops,
      slice.limit.gbytes,
      slice.limit.bound,
    ]),
  };
}

export function sliceSummary(slices: readonly Slice[], by: By): string {
  const [first, second] = slices.filter((slice) => slice.unknown === null);
  if (!first) return slices.length === 0 ? "The profiler recorded nothing." : "The time of no part of a call is known.";
  const counted = by === "operator" ? plural(slices.length, "operator") : plural(slices.length, "node");
  const next = second ? `, then ${second.name} (${percent(second.share)})` : "";
  if (second && !(first.interval && second.interval)) {
    return `${counted}; ${first.name} takes ${percent(first.share)} of a call, ${second.name} ${percent(second.share)}; too few repeats for an interval.`;
  }
  // Where intervals overlap, there is no first.
  const isSure = !second || isApart(first, second);
  return isSure
    ? `${counted}; most of a call goes to ${first.name}: ${sliceText(first)} (${percent(first.share)})${next}.`
    : `${counted}; ${first.name} (${percent(first.share)}) and ${second.name} (${percent(second.share)}) take most, with no clear difference between them.`;
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

/** As the server aligned them, the largest first; repeated names get a number, since charts find rows by name. */
export function changesOf(changes: readonly ChangeDocument[]): Change[] {
  const countByName = new Map<string, number>();
  return changes.map((change) => {
    const count = (countByName.get(change.name) ?? 0) + 1;
    countByName.set(change.name, count);
    return {
      name: count === 1 ? change.name : `${change.name} (${count})`,
      a: sideOf(change.a),
      b: sideOf(change.b),
      deltaMs: change.delta_ms,
      verdict: change.verdict,
      standing: change.standing,
      matchedBy: change.matched_by,
    };
  });
}

function sideOf(part: ChangeDocument["a"]): Side | null {
  if (!part) return null;
  const { unknown, nodes, names, op_types: ops } = part;
  return { ms: part.total_ms.value ?? 0, interval: intervalOf(part.total_ms), unknown, nodes, names, ops };
}

/** "slower", and "moved, slower" if it is elsewhere now. */
export function standingText(change: Pick<Change, "standing" | "verdict">): string {
  if (change.standing === "appeared" || change.standing === "vanished") return change.standing;
  return change.standing === "moved" ? `moved, ${change.verdict}` : change.verdict;
}

/** "Conv + Relu": the operators of a side, with the number of nodes unless it is one. */
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
  return unitOf(changes.map((change) => ({ ms: Math.max(change.a?.ms ?? 0, change.b?.ms ?? 0) })));
}

export function changeTable(changes: readonly Change[], names: { a: string; b: string }, by: By): ChartTable {
  return {
    columns: [by === "operator" ? "operator" : "node", `${names.a} (A), ms`, `${names.b} (B), ms`, "B − A, ms", "in A", "in B", "what", "change"],
    rows: changes.map((change) => [
      change.name,
      knownMs(change.a),
      knownMs(change.b),
      change.deltaMs,
      ranText(change.a),
      ranText(change.b),
      change.standing,
      change.verdict,
    ]),
  };
}

const knownMs = (side: Side | null): number | null => (side?.unknown === null ? side.ms : null);

export function changeSummary(changes: readonly Change[]): string {
  const words = changes.map((change) => (change.standing === "appeared" || change.standing === "vanished" ? change.standing : change.verdict));
  const parts = [...new Set(words)].map((word) => `${words.filter((other) => other === word).length} ${word}`);
  const moved = changes.filter((change) => change.standing === "moved").length;
  if (moved > 0) parts.push(`${moved} moved`);
  const [first] = changes;
  return first
    ? `In B: ${parts.join(", ")}. The largest change: ${first.name}, ${deltaText(first.deltaMs)} (${standingText(first)}).`
    : `Nothing to compare: ${NOTHING}`;
}
