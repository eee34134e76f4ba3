import { Anchor, Badge, Card, Checkbox, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useIntersection } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { benchmarkQuery } from "@/api/queries";
import type { BenchmarkSummary } from "@/api/schema.gen";
import { Versus } from "@/features/benchmarks/Baseline";
import { BenchmarkMenu } from "@/features/benchmarks/BenchmarkMenu";
import { Results } from "@/features/benchmarks/results/Results";
import { RunningBody } from "@/features/benchmarks/running/RunningBody";
import { Stopped } from "@/features/benchmarks/running/Stopped";
import { axesText, setupText, surprisesOf, unusualOutputsOf } from "@/features/benchmarks/results/cells";
import { isActive, stateWord } from "@/features/benchmarks/states";
import type { ResultView } from "@/features/benchmarks/results/view";
import { Ago } from "@/ui/Ago";
import { Trouble } from "@/ui/Trouble";
import { StateBadge, SurpriseBadge, WorstNoiseBadge } from "@/ui/badges";

type Props = { row: BenchmarkSummary; isSelected: boolean; select: (isSelected: boolean) => void; onCreated: (id: number) => void };

/** A benchmark in the list: what it is, and its results. */
export function BenchmarkCard({ row, isSelected, select, onCreated }: Props) {
  const { ref, entry } = useIntersection({ rootMargin: "300px" });
  const [wasVisible, setVisible] = useState(false);
  if (entry?.isIntersecting && !wasVisible) setVisible(true);
  const details = useQuery({ ...benchmarkQuery(row.id), enabled: wasVisible });
  const benchmark = details.data;
  const [view, setView] = useState<ResultView>({ tab: "baseline", metric: "ms_item" });
  const state = benchmark?.state ?? row.state;
  const setup = setupText(benchmark ?? row);
  const hasNumbers = useMemo(() => benchmark?.cells.some((cell) => cell.latency_ms !== null) ?? false, [benchmark]);
  const title = `benchmark-${row.id}-title`;
  return (
    <Card component="article" ref={ref} id={`benchmark-${row.id}`} data-benchmark={row.id} tabIndex={-1} aria-labelledby={title}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap" gap="xs">
          <Group gap="sm" align="flex-start" wrap="nowrap" style={{ minWidth: 0 }}>
            <Checkbox mt={4} checked={isSelected} onChange={(event) => select(event.currentTarget.checked)} aria-label={`Select benchmark ${row.id}`} />
            <Stack gap={2} style={{ minWidth: 0 }}>
              <Group gap="xs">
                <Anchor component={Link} to={`/p/${row.project_id}/benchmarks/${row.id}`} fw={650} id={title} style={{ overflowWrap: "anywhere" }}>
                  #{row.id} {row.name}
                </Anchor>
                <StateBadge state={state}>{stateWord(benchmark ?? row)}</StateBadge>
                <WorstNoiseBadge of={row} />
                <SurpriseBadge texts={surprisesOf(benchmark?.cells ?? [])} />
                <SurpriseBadge texts={unusualOutputsOf(benchmark?.cells ?? [])}>unusual outputs</SurpriseBadge>
                {row.rerun_of !== null && (
                  <Badge
                    component={Link}
                    to={`/p/${row.project_id}/benchmarks/${row.rerun_of}`}
                    variant="outline"
                    color="gray"
                    tt="none"
                    style={{ cursor: "pointer" }}
                  >
                    re-run of #{row.rerun_of}
                  </Badge>
                )}
              </Group>
              <Text size="sm" className="dim">
                {[setup, axesText(benchmark ?? row)].filter(Boolean).join(" · ")} · <Ago at={row.last_run_at ?? row.created_at} />
              </Text>
            </Stack>
          </Group>
          <BenchmarkMenu row={{ ...row, state }} onCreated={onCreated} />
        </Group>
        {details.isError && <Trouble error={details.error} retry={() => void details.refetch()} />}
        {!benchmark && !details.isError && <Skeleton height={300} animate={wasVisible} />}
        {benchmark && isActive(benchmark.state) && <RunningBody benchmark={benchmark} />}
        {benchmark && <Stopped benchmark={benchmark} />}
        {benchmark && !isActive(benchmark.state) && hasNumbers && (
          <Results
            cells={benchmark.cells}
            runId={benchmark.latest_run?.id ?? null}
            view={view}
            change={(change) => setView({ ...view, ...change })}
            beside={<Versus id={benchmark.id} versus={benchmark.vs_baseline} />}
          />
        )}
      </Stack>
    </Card>
  );
}
