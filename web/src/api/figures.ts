import type { CellDocument, Figure, SummaryDocument } from "@/api/schema.gen";

/** A figure that was measured; without an interval over sessions, its ends are null. */
export type Known = { value: number; low: number | null; high: number | null };

/** What cells and summaries of runs have alike. */
export type Timed = Pick<CellDocument | SummaryDocument, "latency_ms" | "throughput_per_s" | "items">;

function known(figure: Figure | null | undefined, divisor = 1): Known | null {
  if (figure == null || figure.value === null) return null;
  // An interval within sessions leaves out what differs between them.
  const isOverSessions = figure.of !== "samples";
  const scaled = (value: number | null) => (value === null || !isOverSessions ? null : value / divisor);
  return { value: figure.value / divisor, low: scaled(figure.low), high: scaled(figure.high) };
}

export const msPerBatch = (cell: Timed): Known | null => known(cell.latency_ms?.typical);
export const msPerItem = (cell: Timed): Known | null => known(cell.latency_ms?.typical, cell.items);
export const floorMsPerItem = (cell: Timed): Known | null => known(cell.latency_ms?.floor, cell.items);
export const itemsPerSecond = (cell: Timed): Known | null => known(cell.throughput_per_s);

type Named = { label: string; unit: string; of: (cell: Timed) => Known | null };

/** What charts and comparisons can be of, as addresses name it. */
export const METRIC_NAMES = ["ms_item", "ms_batch", "items_s", "floor_item"] as const;
export type Metric = (typeof METRIC_NAMES)[number];
export const METRICS: Record<Metric, Named & { isRate: boolean }> = {
  ms_item: { label: "ms per item", unit: "ms", isRate: false, of: msPerItem },
  ms_batch: { label: "ms per batch", unit: "ms", isRate: false, of: msPerBatch },
  items_s: { label: "items per second", unit: "items/s", isRate: true, of: itemsPerSecond },
  floor_item: { label: "ms per item, floor", unit: "ms", isRate: false, of: floorMsPerItem },
};

/** The figures of a cell that leads. */
export const LEADING = {
  ms_per_call: { label: "ms per call, median", unit: "ms", of: msPerBatch },
  floor_per_call: { label: "ms per call, floor", unit: "ms", of: (cell) => known(cell.latency_ms?.floor) },
  items_per_s: { label: "items per second, sustained", unit: "items/s", of: itemsPerSecond },
} satisfies Record<string, Named>;
