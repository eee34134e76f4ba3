import { floorMsPerBatch, itemsPerSecond, msPerBatch, type Known } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { plural, type Interval } from "@/format/numbers";
import { Figure } from "@/ui/Figure";

type Metric = { label: string; unit: string; of: (cell: CellDocument) => Known | null };

const METRICS = {
  ms_per_batch: { label: "ms per call, median", unit: "ms", of: msPerBatch },
  floor_ms_per_batch: { label: "ms per call, floor", unit: "ms", of: floorMsPerBatch },
  items_per_s: { label: "items per second, sustained", unit: "items/s", of: itemsPerSecond },
} satisfies Record<string, Metric>;

/** One number of a measured cell, with its interval and what it rests on. */
export function CellFigure({ cell, metric }: { cell: CellDocument; metric: keyof typeof METRICS }) {
  const { label, unit, of } = METRICS[metric];
  const figure = of(cell);
  const interval: Interval | null = figure?.low != null && figure.high != null ? [figure.low, figure.high] : null;
  const basis = [cell.sessions != null && plural(cell.sessions, "session"), interval === null && cell.interval_note].filter(Boolean).join(", ");
  return <Figure label={label} value={figure?.value} interval={interval} unit={unit} basis={basis && `measured, ${basis}`} />;
}
