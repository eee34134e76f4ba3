import { cardFigures, type FigureColumn } from "@/api/figureColumns";
import type { CellJudgementDocument } from "@/api/parts";
import type { CellDocument } from "@/api/schema.gen";
import { pairName, type Side } from "@/features/compare/picks";
import { formatFigure, intervalOf } from "@/format/numbers";

export type FurtherRow = { place: string; label: string; a: string; b: string };

/** For cells that are compared: what cards show besides latency and throughput. */
export function furtherRows(a: Side, b: Side, judgements: readonly CellJudgementDocument[], columns?: readonly FigureColumn[]): FurtherRow[] {
  const cellOf = (side: Side, number: number) => side.benchmark.cells.find((cell) => cell.number === number);
  return judgements.flatMap((pair) => {
    const [cellA, cellB] = [cellOf(a, pair.a.number), cellOf(b, pair.b.number)];
    return cellA && cellB ? rowsOf(cellA, cellB, columns) : [];
  });
}

function rowsOf(a: CellDocument, b: CellDocument, columns?: readonly FigureColumn[]): FurtherRow[] {
  const [textsA, textsB] = [textsOf(a, columns), textsOf(b, columns)];
  const labels = [...new Set([...textsA.keys(), ...textsB.keys()])];
  return labels.map((label) => ({ place: pairName(a, b), label, a: textsA.get(label) ?? "–", b: textsB.get(label) ?? "–" }));
}

function textsOf(cell: CellDocument, columns?: readonly FigureColumn[]): ReadonlyMap<string, string> {
  return new Map(
    cardFigures(cell, columns).map(({ label, format, unit, figure }) => {
      const text = formatFigure(format, figure.value, intervalOf(figure), unit);
      return [label, [text.value, text.spread, text.unit].filter(Boolean).join(" ")];
    }),
  );
}
