import { Badge, Tooltip } from "@mantine/core";

import type { ModelSummary } from "@/api/schema.gen";

const STATES: Record<ModelSummary["state"], { sign: string; word: string; color: string; means: string }> = {
  ready: { sign: "✓", word: "Ready", color: "green", means: "It can be measured." },
  untrusted: {
    sign: "?",
    word: "Not trusted",
    color: "orange",
    means: "The file can run code and is not trusted yet. Open it to review it.",
  },
  incomplete: { sign: "…", word: "Incomplete", color: "orange", means: "Weights files are missing. Open it to upload them." },
  unread: { sign: "○", word: "Not read", color: "gray", means: "It has not been inspected yet. Open it to inspect it." },
};

export function ModelState({ state }: { state: ModelSummary["state"] }) {
  const { sign, word, color, means } = STATES[state];
  return (
    <Tooltip label={means}>
      <Badge color={color} variant="light" tt="none" tabIndex={0} leftSection={<span aria-hidden>{sign}</span>}>
        {word}
      </Badge>
    </Tooltip>
  );
}
