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
export const floorMsPerBatch = (cell: Timed): Known | null => known(cell.latency_ms?.floor);
export const floorMsPerItem = (cell: Timed): Known | null => known(cell.latency_ms?.floor, cell.items);
export const itemsPerSecond = (cell: Timed): Known | null => known(cell.throughput_per_s);
