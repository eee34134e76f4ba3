import type { VersusBaselineDocument } from "@/api/schema.gen";
import { ratio } from "@/format/numbers";

const MARGIN = 0.02; // of the server's verdicts on baselines

type Words = { text: string; isClear: boolean };

/** How a benchmark stands against the baseline, in words; grey where nothing is clear. */
export function versusWords(id: number, versus: VersusBaselineDocument | null): Words | null {
  const words = withoutNote(id, versus);
  return words && versus?.note ? { ...words, text: `${words.text}; ${versus.note}` } : words;
}

function withoutNote(id: number, versus: VersusBaselineDocument | null): Words | null {
  if (versus === null) return null;
  if (versus.benchmark_id === id) return { text: "This is the baseline", isClear: true };
  const than = `baseline #${versus.benchmark_id}`;
  const { ratio: told, verdict, why } = versus;
  if (told === null) return { text: `Not comparable with ${than}${why ? `: ${why}` : ""}`, isClear: false };
  if (verdict === "faster") return { text: `${ratio(1 / told.value, [1 / told.high, 1 / told.low])} faster than ${than}`, isClear: true };
  if (verdict === "slower") return { text: `${ratio(told.value, [told.low, told.high])} slower than ${than}`, isClear: true };
  if (verdict === "equivalent") return { text: `As fast as ${than} (${ratio(told.value, [told.low, told.high])} of its time)`, isClear: false };
  const certain = why ? null : certainWords(told, verdict === "different-but-small");
  if (certain !== null) return { text: `${certain[0]} than ${than}${certain[1]} (${ratio(told.value, [told.low, told.high])} of its time)`, isClear: false };
  return { text: `No clear difference from ${than} (${ratio(told.value, [told.low, told.high])} of its time)`, isClear: false };
}

/** Who is slower may be certain where it is open, or certain too, whether that matters. */
function certainWords({ low, high }: { low: number; high: number }, isSmall: boolean): [string, string] | null {
  const how = low > 1 && low <= 1 + MARGIN ? "Slower" : high < 1 && high >= 1 - MARGIN ? "Faster" : null;
  return how && [how, isSmall ? ", by too little to matter" : "; whether by enough to matter is open"];
}
