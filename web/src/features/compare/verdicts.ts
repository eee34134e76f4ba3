import type { CellJudgementDocument } from "@/api/parts";
import type { JudgementDocument, SettingDocument } from "@/api/schema.gen";

export type Verdict = {
  sentence: string;
  cells: CellJudgementDocument[];
  settings: SettingDocument[];
  /** Why no pair can be compared; null if some can. */
  whyNot: string | null;
};

/** One verdict from several judgements: single engines are judged pair by pair. */
export function combineVerdicts(judgements: readonly JudgementDocument[]): Verdict | null {
  const [first] = judgements;
  if (!first) return null;
  const cells = judgements.flatMap((judgement) => judgement.cells);
  const settings = [...first.settings, ...first.environment];
  const whyNot = cells.every((cell) => cell.ratio === null)
    ? (cells.find((cell) => cell.why)?.why ?? "the two have no cell with the same batch size and cores")
    : null;
  return { sentence: judgements.length === 1 ? first.sentence : countedSentence(cells), cells, settings, whyNot };
}

/** "Of 6 cells: B is faster in 4, no clear difference in 2." */
export function countedSentence(cells: readonly CellJudgementDocument[]): string {
  const [only] = cells;
  if (only && cells.length === 1) return only.sentence;
  const none = cells.filter((cell) => cell.ratio === null).length;
  const a = cells.filter((cell) => cell.faster === "a").length;
  const b = cells.filter((cell) => cell.faster === "b").length;
  const unclear = cells.length - none - a - b;
  const parts = [b && `B is faster in ${b}`, a && `A is faster in ${a}`, unclear && `no clear difference in ${unclear}`, none && `not comparable in ${none}`];
  return `Of ${cells.length} cells: ${parts.filter(Boolean).join(", ")}.`;
}
