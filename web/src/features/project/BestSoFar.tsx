import { Anchor, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { engineTitle } from "@/api/engines";
import type { LeaderDocument } from "@/api/parts";
import type { ContenderDocument } from "@/api/schema.gen";
import { cellName, capitalize } from "@/format/words";
import { NoiseBadge } from "@/ui/badges";
import { CellFigure } from "@/ui/CellFigure";

const TITLES: Record<LeaderDocument["objective"], string> = { latency: "Lowest latency of a call", throughput: "Highest throughput" };

/** The fastest so far; cells without a clear difference are not ranked. */
export function BestSoFar({ pid, best }: { pid: number; best: readonly LeaderDocument[] }) {
  return (
    <Card component="section" aria-label="Best so far">
      <Title order={2} size="h4" mb="sm">
        Best so far
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl">
        {best.map((leader) => (
          <Best key={leader.objective} pid={pid} best={leader} />
        ))}
      </SimpleGrid>
    </Card>
  );
}

function Best({ pid, best }: { pid: number; best: LeaderDocument }) {
  const { leader, tied, note, objective } = best;
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600}>
        {TITLES[objective]}
      </Text>
      {!leader && (
        <Text size="sm" className="dim">
          – {note}
        </Text>
      )}
      {leader && (
        <>
          {!best.is_clear && (
            <Text size="sm" className="dim">
              No clear difference between {tied.length + 1} of them; one is
            </Text>
          )}
          <Name pid={pid} of={leader} />
          <Group align="flex-start" style={{ columnGap: 28, rowGap: 4 }}>
            <CellFigure cell={leader.cell} metric={objective === "latency" ? "ms_per_call" : "items_per_s"} />
            {objective === "latency" && <CellFigure cell={leader.cell} metric="floor_per_call" />}
            <NoiseBadge of={leader.cell} />
          </Group>
          {!best.is_clear && (
            <Text size="sm" className="dim">
              the {tied.length === 1 ? "other is" : "others are"}{" "}
              {tied.slice(0, 3).map((leader, index) => (
                <span key={index}>
                  {index > 0 && "; "}
                  <Name pid={pid} of={leader} />
                </span>
              ))}
              {tied.length > 3 && ` and ${tied.length - 3} more`}
            </Text>
          )}
          {note && (
            <Text size="sm" className="dim">
              {capitalize(note)}
            </Text>
          )}
        </>
      )}
    </Stack>
  );
}

function Name({ pid, of }: { pid: number; of: ContenderDocument }) {
  const { cell } = of;
  return (
    <Anchor component={Link} to={`/p/${pid}/benchmarks/${of.benchmark_id}`} size="sm" style={{ overflowWrap: "anywhere" }}>
      {of.model_name}
      {cell.precision && ` ${cell.precision}`} on {engineTitle(cell.engine)}, {cellName(cell)}
    </Anchor>
  );
}
