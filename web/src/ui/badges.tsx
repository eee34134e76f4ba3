import { Badge, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

import type { BenchmarkDetailsDocument } from "@/api/schema.gen";
import type { State, Noise } from "@/api/vocabulary";

const STATES: Record<State, { sign: string; word: string; color: string }> = {
  draft: { sign: "○", word: "Not run", color: "gray" },
  queued: { sign: "◷", word: "Queued", color: "blue" },
  running: { sign: "◑", word: "Running", color: "dyno" },
  done: { sign: "✓", word: "Done", color: "green" },
  failed: { sign: "✕", word: "Failed", color: "red" },
  cancelled: { sign: "–", word: "Cancelled", color: "gray" },
  interrupted: { sign: "↻", word: "Interrupted", color: "orange" },
};
const NOISES: Record<Noise, { sign: string; color: string; means: string }> = {
  quiet: { sign: "✓", color: "green", means: "The sessions agree, and the machine was quiet." },
  noisy: { sign: "≈", color: "yellow", means: "The sessions differ more than they should. Measure again, or longer." },
  contended: { sign: "!", color: "orange", means: "Other programs used the machine during the measurement." },
  unusable: { sign: "✕", color: "red", means: "Too disturbed, or too few sessions, to be usable." },
};

/** Sign, word and colour: never colour alone. */
export function StateBadge({ state, children }: { state: State; children?: ReactNode }) {
  const { sign, word, color } = STATES[state];
  return (
    <Badge color={color} variant="light" tt="none" miw="max-content" leftSection={<span aria-hidden>{sign}</span>}>
      {children ?? word}
    </Badge>
  );
}

/** Of a whole benchmark: the worst of its cells, and how many are. */
export function WorstNoiseBadge({ of, isShort = false }: { of: Pick<BenchmarkDetailsDocument, "summary" | "worst_noise">; isShort?: boolean }) {
  const { summary, worst_noise: worst } = of;
  if (!worst) return null;
  const isAll = isShort || worst.cells === worst.of;
  const why = worst.noise === summary.noise ? reasonsOf(summary) : "";
  return <Quality noise={worst.noise} why={why} text={isAll ? undefined : `${worst.noise}: ${worst.cells} of ${worst.of}`} />;
}

/** Begun, and waiting for cores. */
export function WaitingBadge() {
  return (
    <Badge color="blue" variant="light" tt="none" miw="max-content" leftSection={<span aria-hidden>◷</span>}>
      Waiting
    </Badge>
  );
}

type Judged = { noise: Noise | null; noise_reasons?: readonly string[] };

const reasonsOf = ({ noise_reasons: reasons }: Judged): string => reasons?.join(" ") ?? "";

/** How far a number can be trusted. */
export function NoiseBadge({ of }: { of: Judged }) {
  return of.noise && <Quality noise={of.noise} why={reasonsOf(of)} />;
}

/** For a number that the page itself considers unusable. */
export function UnusableBadge({ why }: { why: string }) {
  return <Quality noise="unusable" why={why} />;
}

/** `text` says more than the bare word, if more is known. */
function Quality({ noise, why, text }: { noise: Noise; why: string; text?: string }) {
  const { sign, color, means } = NOISES[noise];
  return (
    <Tooltip label={why || means}>
      <Badge color={color} variant="light" tt="none" miw="max-content" tabIndex={0} leftSection={<span aria-hidden>{sign}</span>}>
        {text ?? noise}
      </Badge>
    </Tooltip>
  );
}

/** Deviations from the request, or unusual outputs, in words. */
export function SurpriseBadge({ texts, children = "not as requested" }: { texts: readonly string[]; children?: string }) {
  if (texts.length === 0) return null;
  return (
    <Tooltip label={texts.join(". ")} multiline maw={420}>
      <Badge color="orange" variant="light" tt="none" miw="max-content" tabIndex={0} leftSection={<span aria-hidden>!</span>}>
        {children}
      </Badge>
    </Tooltip>
  );
}
