import type { ComparisonTold } from "@/api/schema.gen";
import { plain } from "@/format/numbers";
import { engineName } from "@/format/words";

type Sides = Pick<ComparisonTold, "pairing" | "summary">;

/** What a pair that was measured in alternation came to; null before it has a verdict. */
export function verdictOf({ pairing, summary }: Sides): { sentence: string; isClear: boolean } | null {
  const { verdict, ratio, ratio_low: low, ratio_high: high } = summary;
  if (verdict == null || ratio == null || low == null || high == null) return null;
  const [a, b] = namesOf(pairing);
  if (verdict === "faster") return { sentence: `${begun(b)} is ${plain(1 / ratio, 2)}× faster than ${a} (${plain(1 / high, 2)}–${plain(1 / low, 2)}, 95 %).`, isClear: true };
  if (verdict === "slower") return { sentence: `${begun(a)} is ${plain(ratio, 2)}× faster than ${b} (${plain(low, 2)}–${plain(high, 2)}, 95 %).`, isClear: true };
  const said = verdict === "equivalent" ? "are equivalent" : verdict === "different-but-small" ? "differ, but by too little to matter" : "show no clear difference";
  return { sentence: `${begun(a)} and ${b} ${said} (${b} takes ${plain(low, 3)} to ${plain(high, 3)} times as long, 95 %).`, isClear: false };
}

/** At the beginning of a sentence; a model's own name stays as it is. */
const begun = (name: string): string => name.replace(/^batch /, "Batch ");

/** By what tells them apart. */
function namesOf({ a, b }: ComparisonTold["pairing"]): [string, string] {
  if (a.engine && b.engine && a.engine !== b.engine) return [engineName(a.engine), engineName(b.engine)];
  if (a.batch_size !== b.batch_size) return [`batch ${a.batch_size}`, `batch ${b.batch_size}`];
  return [a.label, b.label];
}
