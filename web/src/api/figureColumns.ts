import { FIGURES } from "@/api/figures.gen";
import { toMeasuredFigure, type MeasuredFigure } from "@/api/figures";
import type { CellDocument, Figure, SummaryDocument } from "@/api/schema.gen";

type Row = (typeof FIGURES)[number];

export type Format = "time" | "rate" | "bytes" | "count" | "share" | "amount";

/** How a figure of a cell is shown. */
export type FigureColumn<Name extends string = Row["name"]> = {
  name: Name;
  label: string;
  format: Format;
  unit: string;
  /** Whether lists show it, offer it, or do not have it. */
  in_lists: "always" | "wanted" | "never";
  /** Lists show it right after latency, others last. */
  is_among_first: boolean;
  /** Of a cell, and where two cells are compared. */
  on_card: boolean;
};

/** What lists have: the summary of a run declares it, too. */
export type ListedName = Extract<Row, { in_lists: "always" | "wanted" }>["name"] & keyof SummaryDocument;
type Listed = FigureColumn<ListedName>;

const COLUMNS: readonly FigureColumn[] = FIGURES;
const isListed = (column: FigureColumn): column is Listed => column.in_lists !== "never";

export const LIST_FIGURES: readonly Listed[] = COLUMNS.filter(isListed);
const CARD_FIGURES: readonly FigureColumn[] = COLUMNS.filter(({ on_card }) => on_card);

/** A figure with or without an interval; null if it was not measured. */
export function figureOf(value: number | Figure | null | undefined): MeasuredFigure | null {
  if (value == null) return null;
  return toMeasuredFigure(typeof value === "number" ? { value, low: null, high: null, level: null, of: null, n: null, needs: null, repeat: null } : value);
}

export type CardFigure = { label: string; format: Format; unit: string; figure: MeasuredFigure };

/** The further figures measured for a cell. */
export function cardFigures(cell: CellDocument, columns: readonly FigureColumn[] = CARD_FIGURES): CardFigure[] {
  return columns.flatMap(({ name, label, format, unit }) => {
    const figure = figureOf(cell[name]);
    return figure ? [{ label, format, unit, figure }] : [];
  });
}
