import type { ProfileDocument } from "@/api/schema.gen";
import type { ChartTable } from "@/charts/Chart";
import { NOTHING, decimals, percent, plain, plural, quantity, type Interval } from "@/format/numbers";

/** A part of a call: a node, or all nodes of one operator. */
export type Slice = { name: string; op: string; ms: number; interval: Interval | null; share: number; nodes: number; calls: number };
export type By = "operator" | "node";

/** The slowest first. */
export function slicesOf(profile: ProfileDocument, by: By): Slice[] {
  if (by === "operator") {
    return profile.operators.map((one) => ({ ...of(one), name: one.op_type, nodes: one.nodes }));
  }
  return profile.nodes.map((one) => ({ ...of(one), name: one.node, nodes: 1 }));
}

type Row = ProfileDocument["operators"][number] | ProfileDocument["nodes"][number];

function of(row: Row): Omit<Slice, "name" | "nodes"> {
  const [low, high] = row.total_ci95_ms ?? [];
  return { op: row.op_type, ms: row.total_ms, interval: low === undefined || high === undefined ? null : [low, high], share: row.share, calls: row.calls };
}

export type Unit = { name: "ms" | "µs"; of: number };
export const MS: Unit = { name: "ms", of: 1 };

/** One unit for all of them: that of the largest. */
export function unitOf(slices: readonly Pick<Slice, "ms">[]): Unit {
  return slices.every((one) => one.ms < 0.5) ? { name: "µs", of: 1000 } : MS;
}

export function sliceText(slice: Pick<Slice, "ms" | "interval">, unit: Unit = unitOf([slice])): string {
  const interval: Interval | null = slice.interval && [slice.interval[0] * unit.of, slice.interval[1] * unit.of];
  const told = quantity(slice.ms * unit.of, interval, unit.name);
  return `${told.value}${told.spread?.startsWith("±") ? ` ${told.spread}` : told.spread ? ` (${told.spread})` : ""} ${unit.name}`;
}

export function sliceTable(slices: readonly Slice[], by: By): ChartTable {
  return {
    columns: [by === "operator" ? "operator" : "node", ...(by === "node" ? ["operator"] : ["nodes"]), "ms", "95 % low", "95 % high", "share", "calls"],
    rows: slices.map((one) => [one.name, by === "node" ? one.op : one.nodes, one.ms, one.interval?.[0] ?? null, one.interval?.[1] ?? null, one.share, one.calls]),
  };
}

export function sliceSummary(slices: readonly Slice[], by: By): string {
  const [first, second] = slices;
  if (!first) return "The profiler saw nothing.";
  const what = by === "operator" ? plural(slices.length, "operator") : plural(slices.length, "node");
  const next = second ? `, then ${second.name} (${percent(second.share)})` : "";
  // Where intervals overlap, there is no first.
  const isSure = !second || isApart(first, second);
  return isSure
    ? `${what}; most of a call goes to ${first.name}: ${sliceText(first)} (${percent(first.share)})${next}.`
    : `${what}; ${first.name} (${percent(first.share)}) and ${second.name} (${percent(second.share)}) take most, with no clear difference between them.`;
}

export type Change = {
  name: string;
  a: Slice | null;
  b: Slice | null;
  deltaMs: number;
  verdict: "faster" | "slower" | "no clear difference" | "only in A" | "only in B";
};

/** What is different in B, the largest change first. */
export function changesOf(a: readonly Slice[], b: readonly Slice[]): Change[] {
  const left = merged(a);
  const right = merged(b);
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((name) => changeOf(name, left.get(name) ?? null, right.get(name) ?? null))
    .sort((one, other) => Math.abs(other.deltaMs) - Math.abs(one.deltaMs));
}

function changeOf(name: string, a: Slice | null, b: Slice | null): Change {
  const deltaMs = (b?.ms ?? 0) - (a?.ms ?? 0);
  if (!b) return { name, a, b, deltaMs, verdict: "only in A" };
  if (!a) return { name, a, b, deltaMs, verdict: "only in B" };
  return { name, a, b, deltaMs, verdict: !isApart(a, b) ? "no clear difference" : deltaMs < 0 ? "faster" : "slower" };
}

/** Names may repeat: then they are one. */
function merged(slices: readonly Slice[]): Map<string, Slice> {
  const found = new Map<string, Slice>();
  for (const slice of slices) {
    const before = found.get(slice.name);
    found.set(slice.name, before ? { ...before, ms: before.ms + slice.ms, interval: null, share: before.share + slice.share, nodes: before.nodes + slice.nodes, calls: before.calls + slice.calls } : slice);
  }
  return found;
}

function isApart(a: Slice, b: Slice): boolean {
  if (!a.interval || !b.interval) return false;
  return a.interval[1] < b.interval[0] || b.interval[1] < a.interval[0];
}

export function deltaText(ms: number, unit: Unit = unitOf([{ ms: Math.abs(ms) }])): string {
  const scaled = ms * unit.of;
  return ms === 0 ? `0 ${unit.name}` : `${ms > 0 ? "+" : ""}${plain(scaled, decimals(scaled, 3))} ${unit.name}`;
}

/** Of both sides together. */
export function unitOfChanges(changes: readonly Change[]): Unit {
  return unitOf(changes.map((one) => ({ ms: Math.max(one.a?.ms ?? 0, one.b?.ms ?? 0) })));
}

export function changeTable(changes: readonly Change[], names: { a: string; b: string }, by: By): ChartTable {
  return {
    columns: [by === "operator" ? "operator" : "node", `${names.a} (A), ms`, `${names.b} (B), ms`, "B − A, ms", "verdict"],
    rows: changes.map((one) => [one.name, one.a?.ms ?? null, one.b?.ms ?? null, one.deltaMs, one.verdict]),
  };
}

export function changeSummary(changes: readonly Change[]): string {
  const count = (verdict: Change["verdict"]) => changes.filter((one) => one.verdict === verdict).length;
  const [first] = changes;
  const parts = (["faster", "slower", "no clear difference", "only in A", "only in B"] as const).filter((one) => count(one) > 0).map((one) => `${count(one)} ${one}`);
  return first ? `In B: ${parts.join(", ")}. The largest change: ${first.name}, ${deltaText(first.deltaMs)} (${first.verdict}).` : `Nothing to compare: ${NOTHING}`;
}
