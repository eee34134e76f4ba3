import { Anchor, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { ComparisonSummary } from "@/api/schema.gen";
import { NoiseBadge } from "@/ui/badges";

/** The comparisons in alternation, one sentence each. */
export function Verdicts({ pid, rows }: { pid: number; rows: readonly ComparisonSummary[] }) {
  const judged = rows.filter((row) => row.sentence_by_name !== null).slice(0, 3);
  if (judged.length === 0) return null;
  return (
    <Card component="section" aria-label="Verdicts">
      <Title order={2} size="h4" mb="xs">
        Verdicts
      </Title>
      <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {judged.map((row) => (
          <Verdict key={row.id} pid={pid} row={row} />
        ))}
      </Stack>
    </Card>
  );
}

function Verdict({ pid, row }: { pid: number; row: ComparisonSummary }) {
  const isClear = row.summary.verdict === "faster" || row.summary.verdict === "slower";
  return (
    <li>
      <Group gap="xs" align="baseline">
        <Text fw={isClear ? 600 : undefined} className={isClear ? undefined : "dim"} style={{ overflowWrap: "anywhere" }}>
          {row.sentence_by_name}
        </Text>
        <NoiseBadge of={row.summary} />
      </Group>
      <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/p/$pid/compare" params={{ pid }} search={{ comparison: row.id }} />}>
        {row.name}, measured in alternation
      </Anchor>
    </li>
  );
}
