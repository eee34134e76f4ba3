import type { VersusBaselineDocument } from "@/api/schema.gen";
import { ratio } from "@/format/numbers";

const MARGIN = 0.02; // of the server's verdicts on baselines

type Words = { text: string; isClear: boolean };

/** How a benchmark compares with the baseline, in words; grey if nothing is clear. */
export function versusWords(id: number, versus: VersusBaselineDocument | null): Words | null {
  const words = withoutNote(id, versus);
  return words && versus?.note ? { ...words, text: `${words.text}; ${versus.note}` } : words;
}

function withoutNote(id: number, versus: VersusBaselineDocument | null): Words | null {
  if (versus === null) return null;
  if (versus.benchmark_id === id) return { text: "This is the baseline", isClear: true };
  const baseline = `baseline #${versus.benchmark_id}`;
  const { ratio: timeRatio, verdict, why } = versus;
  if (timeRatio === null) return { text: `Not comparable with ${baseline}${why ? `: ${why}` : ""}`, isClear: false };
  if (verdict === "faster") return { text: `${ratio(1 / timeRatio.value, [1 / timeRatio.high, 1 / timeRatio.low])} faster than ${baseline}`, isClear: true };
  if (verdict === "slower") return { text: `${ratio(timeRatio.value, [timeRatio.low, timeRatio.high])} slower than ${baseline}`, isClear: true };
  if (verdict === "equivalent")
    return { text: `As fast as ${baseline} (${ratio(timeRatio.value, [timeRatio.low, timeRatio.high])} of its time)`, isClear: false };
  const conclusion = why ? null : conclusionWords(timeRatio, verdict === "different-but-small");
  if (conclusion !== null)
    return {
      text: `${conclusion[0]} than ${baseline}${conclusion[1]} (${ratio(timeRatio.value, [timeRatio.low, timeRatio.high])} of its time)`,
      isClear: false,
    };
  return { text: `No clear difference from ${baseline} (${ratio(timeRatio.value, [timeRatio.low, timeRatio.high])} of its time)`, isClear: false };
}

/** The direction may be certain even if it is open, or too small, whether it matters. */
function conclusionWords({ low, high }: { low: number; high: number }, isSmall: boolean): [string, string] | null {
  const direction = low > 1 && low <= 1 + MARGIN ? "Slower" : high < 1 && high >= 1 - MARGIN ? "Faster" : null;
  return direction && [direction, isSmall ? ", by too little to matter" : "; whether by enough to matter is open"];
}
