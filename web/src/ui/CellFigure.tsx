import { LEADING } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { intervalOf, plural } from "@/format/numbers";
import { intervalWords } from "@/format/words";
import { Figure } from "@/ui/Figure";

/** One number of a measured cell, with its interval and what it rests on. */
export function CellFigure({ cell, metric }: { cell: CellDocument; metric: keyof typeof LEADING }) {
  const { label, unit, of } = LEADING[metric];
  const figure = of(cell);
  const interval = figure && intervalOf(figure);
  const basis = [plural(cell.sessions, "session"), interval === null ? cell.interval_note : intervalWords(figure)].filter(Boolean).join(", ");
  return <Figure label={label} value={figure?.value} interval={interval} unit={unit} basis={basis && `measured, ${basis}`} />;
}
