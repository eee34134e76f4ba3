import { Code, Group, Stack, Text } from "@mantine/core";

import { duration } from "@/format/numbers";
import { Copy } from "@/ui/Copy";

export type PlanWords = {
  cells: string;
  aboutS: number | null;
  /** It ends early once it is precise. */ isMost: boolean;
  cores: number;
  threads: number;
  commands: readonly string[];
  note: string | null;
};

/** What RUN would do, and the same in a terminal. */
export function PlanLine({ plan, isStale }: { plan: PlanWords | null; isStale: boolean }) {
  return (
    <Stack gap={4} role="status" aria-label="Plan" style={{ minHeight: 64, opacity: isStale ? 0.6 : 1 }}>
      {plan ? (
        <>
          <Text size="sm">
            <b>Plan:</b> {plan.cells} ·{" "}
            {plan.aboutS === null ? "duration depends on the calls" : `${plan.isMost ? "at most " : ""}about ${duration(plan.aboutS)}`} · uses {plan.cores}{" "}
            {plan.cores === 1 ? "core" : "cores"}
            {plan.threads > plan.cores && ` for ${plan.threads} threads, which share them`}
          </Text>
          {plan.note && (
            <Text size="xs" className="dim">
              {plan.note}
            </Text>
          )}
          <Group gap={4} wrap="nowrap" align="center">
            <Text size="xs" className="dim" style={{ whiteSpace: "nowrap" }}>
              Same as:
            </Text>
            <Code style={{ overflow: "auto", whiteSpace: "pre", maxHeight: 60 }} tabIndex={0}>
              {plan.commands.join("\n")}
            </Code>
            <Copy text={plan.commands.join("\n")} label="Copy the command" />
          </Group>
        </>
      ) : (
        <Text size="sm" className="dim">
          The plan appears once all fields are valid.
        </Text>
      )}
    </Stack>
  );
}
