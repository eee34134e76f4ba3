import { cardFigures, type FigureColumn } from "@/api/figureColumns";
import type { CellJudgementDocument } from "@/api/parts";
import type { CellDocument } from "@/api/schema.gen";
import { pairName, type Side } from "@/features/compare/picks";
import { formatFigure, intervalOf } from "@/format/numbers";

export type FurtherRow = { place: string; label: string; a: string; b: string };

/** Of cells that are held against each other: what cards show beside latency and throughput. */
export function furtherRows(a: Side, b: Side, judged: readonly CellJudgementDocument[], columns?: readonly FigureColumn[]): FurtherRow[] {
  const cellOf = (side: Side, number: number) => side.benchmark.cells.find((cell) => cell.number === number);
  return judged.flatMap((pair) => {
    const [here, there] = [cellOf(a, pair.a.number), cellOf(b, pair.b.number)];
    return here && there ? rowsOf(here, there, columns) : [];
  });
}

function rowsOf(a: CellDocument, b: CellDocument, columns?: readonly FigureColumn[]): FurtherRow[] {
  const [here, there] = [textsOf(a, columns), textsOf(b, columns)];
  const labels = [...new Set([...here.keys(), ...there.keys()])];
  return labels.map((label) => ({ place: pairName(a, b), label, a: here.get(label) ?? "–", b: there.get(label) ?? "–" }));
}

function textsOf(cell: CellDocument, columns?: readonly FigureColumn[]): ReadonlyMap<string, string> {
  return new Map(
    cardFigures(cell, columns).map(({ label, format, unit, figure: known }) => {
      const text = formatFigure(format, known.value, intervalOf(known), unit);
      return [label, [text.value, text.spread, text.unit].filter(Boolean).join(" ")];
    }),
  );
}
