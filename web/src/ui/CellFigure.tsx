import { LEADING } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { plural, type Interval } from "@/format/numbers";
import { Figure } from "@/ui/Figure";

/** One number of a measured cell, with its interval and what it rests on. */
export function CellFigure({ cell, metric }: { cell: CellDocument; metric: keyof typeof LEADING }) {
  const { label, unit, of } = LEADING[metric];
  const figure = of(cell);
  const interval: Interval | null = figure?.low != null && figure.high != null ? [figure.low, figure.high] : null;
  const basis = [plural(cell.sessions, "session"), interval === null && cell.interval_note].filter(Boolean).join(", ");
  return <Figure label={label} value={figure?.value} interval={interval} unit={unit} basis={basis && `measured, ${basis}`} />;
}
