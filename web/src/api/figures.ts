import type { CellDocument, Figure, SummaryDocument } from "@/api/schema.gen";

type Ends = { low: number | null; high: number | null };

/**
 * A figure that was measured, with the interval to expect in a repeat, or if that is not known, with the interval over what `of` names.
 * Without either, its ends are null. `own` is how far the sessions of its run agree.
 */
export type MeasuredFigure = Ends & { value: number; of: "repeat" | Figure["of"]; own: Ends };

/** What cells and summaries of runs have in common. */
export type Timed = Pick<CellDocument | SummaryDocument, "latency_ms" | "throughput_per_s" | "items">;

export function toMeasuredFigure(figure: Figure | null | undefined, divisor = 1): MeasuredFigure | null {
  if (figure == null || figure.value === null) return null;
  const scaleEnds = (ends: Ends | null): Ends =>
    ends === null || ends.low === null || ends.high === null ? { low: null, high: null } : { low: ends.low / divisor, high: ends.high / divisor };
  // An interval within sessions leaves out what differs between them.
  const own = scaleEnds(figure.of === "samples" ? null : figure);
  const repeat = figure.repeat ?? null;
  return { value: figure.value / divisor, ...(repeat ? scaleEnds(repeat) : own), of: repeat ? "repeat" : figure.of, own };
}

/** For cells of one run: they share what drifts between runs, so the sessions of that run tell them apart. */
export function withinRun(figure: MeasuredFigure | null): MeasuredFigure | null {
  return figure && { ...figure, ...figure.own, of: figure.of === "repeat" ? "sessions" : figure.of };
}

export const msPerBatch = (cell: Timed): MeasuredFigure | null => toMeasuredFigure(cell.latency_ms?.typical);
export const msPerItem = (cell: Timed): MeasuredFigure | null => toMeasuredFigure(cell.latency_ms?.typical, cell.items);
export const floorMsPerItem = (cell: Timed): MeasuredFigure | null => toMeasuredFigure(cell.latency_ms?.floor, cell.items);
export const itemsPerSecond = (cell: Timed): MeasuredFigure | null => toMeasuredFigure(cell.throughput_per_s);

type MetricDefinition = { label: string; unit: string; of: (cell: Timed) => MeasuredFigure | null };

/** What charts and comparisons can be of, as addresses name it. */
export const METRIC_NAMES = ["ms_item", "ms_batch", "items_s", "floor_item"] as const;
export type Metric = (typeof METRIC_NAMES)[number];
export const METRICS: Record<Metric, MetricDefinition & { isRate: boolean }> = {
  ms_item: { label: "ms per item", unit: "ms", isRate: false, of: msPerItem },
  ms_batch: { label: "ms per batch", unit: "ms", isRate: false, of: msPerBatch },
  items_s: { label: "items per second", unit: "items/s", isRate: true, of: itemsPerSecond },
  floor_item: { label: "ms per item, floor", unit: "ms", isRate: false, of: floorMsPerItem },
};

/** The figures of a cell that leads. */
export const LEADING = {
  ms_per_call: { label: "ms per call, median", unit: "ms", of: msPerBatch },
  floor_per_call: { label: "ms per call, floor", unit: "ms", of: (cell) => toMeasuredFigure(cell.latency_ms?.floor) },
  items_per_s: { label: "items per second, sustained", unit: "items/s", of: itemsPerSecond },
} satisfies Record<string, MetricDefinition>;
