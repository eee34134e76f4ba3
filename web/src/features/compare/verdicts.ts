import type { CellJudgementTold, ComparisonRowTold, JudgementTold, SettingTold } from "@/api/schema.gen";
import { plain } from "@/format/numbers";

export type Verdict = {
  sentence: string;
  cells: CellJudgementTold[];
  settings: SettingTold[];
  /** Nothing can be said of any pair, and this is why. */
  whyNot: string | null;
};

/** One verdict of several answers: those of single engines are asked for pair by pair. */
export function together(found: readonly JudgementTold[]): Verdict | null {
  const [first] = found;
  if (!first) return null;
  const cells = found.flatMap((one) => one.cells);
  const settings = [...first.settings, ...first.environment];
  const whyNot = cells.every((cell) => cell.ratio === null)
    ? (cells.find((cell) => cell.why)?.why ?? "no cell of one has the same batch size and cores as a cell of the other")
    : null;
  return { sentence: found.length === 1 ? first.sentence : countedSentence(cells), cells, settings, whyNot };
}

/** "Of 6 cells: B is faster in 4, no clear difference in 2." */
export function countedSentence(cells: readonly CellJudgementTold[]): string {
  const [only] = cells;
  if (only && cells.length === 1) return only.sentence;
  const none = cells.filter((cell) => cell.ratio === null).length;
  const a = cells.filter((cell) => cell.faster === "a").length;
  const b = cells.filter((cell) => cell.faster === "b").length;
  const unclear = cells.length - none - a - b;
  const parts = [
    b && `B is faster in ${b}`,
    a && `A is faster in ${a}`,
    unclear && `no clear difference in ${unclear}`,
    none && `not comparable in ${none}`,
  ];
  return `Of ${cells.length} cells: ${parts.filter(Boolean).join(", ")}.`;
}

type Ratio = Pick<ComparisonRowTold["summary"], "verdict" | "ratio" | "ratio_low" | "ratio_high">;

/** Of a pair that was measured in alternation, in the same words. */
export function pairSentence({ verdict, ratio, ratio_low: low, ratio_high: high }: Ratio): string {
  if (ratio == null || low == null || high == null) return "No verdict yet.";
  if (verdict === "faster") return `B is ${plain(1 / ratio, 2)}× faster than A (${plain(1 / high, 2)}–${plain(1 / low, 2)}, 95 %).`;
  if (verdict === "slower") return `A is ${plain(ratio, 2)}× faster than B (${plain(low, 2)}–${plain(high, 2)}, 95 %).`;
  const words = { equivalent: "A and B are equivalent", "different-but-small": "A and B differ, but by too little to matter" };
  const said = verdict === "equivalent" || verdict === "different-but-small" ? words[verdict] : "No clear difference between A and B";
  return `${said} (B takes ${plain(low, 3)} to ${plain(high, 3)} times as long as A, 95 %).`;
}
