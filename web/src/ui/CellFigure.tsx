import type { CellTold } from "@/api/schema.gen";
import { plural, type Interval } from "@/format/numbers";
import { Figure } from "@/ui/Figure";

const METRICS = {
  ms_per_item: { label: "ms per item", unit: "ms" },
  floor_ms_per_item: { label: "ms per item, floor", unit: "ms" },
  ms_per_batch: { label: "ms per batch", unit: "ms" },
  items_per_s: { label: "items per second", unit: "items/s" },
} as const;

/** One number of a measured cell, with its interval and what it rests on. */
export function CellFigure({ cell, metric }: { cell: CellTold; metric: keyof typeof METRICS }) {
  const figure = cell[metric];
  const { label, unit } = METRICS[metric];
  const interval: Interval | null = figure?.low != null && figure.high != null ? [figure.low, figure.high] : null;
  const basis = [cell.sessions != null && plural(cell.sessions, "session"), interval === null && cell.interval_note].filter(Boolean).join(", ");
  return <Figure label={label} value={figure?.value} interval={interval} unit={unit} basis={basis && `measured, ${basis}`} />;
}
