import type { VersusBaselineTold } from "@/api/schema.gen";
import { ratio } from "@/format/numbers";

/** How a benchmark stands against the baseline, in words; grey where nothing is clear. */
export function versusWords(id: number, versus: VersusBaselineTold | null): { text: string; isClear: boolean } | null {
  if (versus === null) return null;
  if (versus.benchmark_id === id) return { text: "This is the baseline", isClear: true };
  const than = `baseline #${versus.benchmark_id}`;
  const { ratio: told, verdict, why } = versus;
  if (told === null) return { text: `Not comparable with ${than}${why ? `: ${why}` : ""}`, isClear: false };
  if (verdict === "faster") return { text: `${ratio(1 / told.value, [1 / told.high, 1 / told.low])} faster than ${than}`, isClear: true };
  if (verdict === "slower") return { text: `${ratio(told.value, [told.low, told.high])} slower than ${than}`, isClear: true };
  if (verdict === "equivalent") return { text: `As fast as ${than} (${ratio(told.value, [told.low, told.high])} of its time)`, isClear: false };
  return { text: `No clear difference from ${than} (${ratio(told.value, [told.low, told.high])} of its time)`, isClear: false };
}
