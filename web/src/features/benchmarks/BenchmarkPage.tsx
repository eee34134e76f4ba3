import { Anchor, Badge, Group, Skeleton, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";

import { benchmarkQuery } from "@/api/queries";
import { Versus } from "@/features/benchmarks/Baseline";
import { BenchmarkMenu } from "@/features/benchmarks/BenchmarkMenu";
import { CoresByBatches } from "@/features/benchmarks/results/CoresByBatches";
import { LogTab } from "@/features/benchmarks/running/LogTab";
import { RawTab } from "@/features/benchmarks/results/RawTab";
import { ReproduceTab } from "@/features/benchmarks/reproduce/ReproduceTab";
import { Results } from "@/features/benchmarks/results/Results";
import { RunningBody } from "@/features/benchmarks/running/RunningBody";
import { Stopped } from "@/features/benchmarks/running/Stopped";
import { Trend } from "@/features/benchmarks/results/Trend";
import { axesText, setupText, surprisesOf, unusualOutputsOf } from "@/features/benchmarks/results/cells";
import { isActive, stateWord } from "@/features/benchmarks/states";
import { BENCHMARK_TABS, type Change, type ResultView } from "@/features/benchmarks/results/view";
import { Ago } from "@/ui/Ago";
import { Page } from "@/ui/Page";
import { ScrollingTabs } from "@/ui/ScrollingTabs";
import { Trouble } from "@/ui/Trouble";
import { StateBadge, SurpriseBadge, WorstNoiseBadge } from "@/ui/badges";
import { usePageKeys } from "@/ui/pageKeys";

const TAB_TITLES: Record<(typeof BENCHMARK_TABS)[number], string> = {
  baseline: "Baseline",
  cores: "Core scaling",
  batches: "Batch size scaling",
  raw: "Raw",
  reproduce: "Reproduce",
  log: "Log",
};

const menuKey = (key: string): boolean => {
  if (key !== "." && key !== "e") return false;
  document.querySelector<HTMLElement>("[data-menu]")?.click();
  return true;
};

export function BenchmarkPage() {
  const { pid, bid } = useParams({ from: "/p/$pid/benchmarks/$bid" });
  const search = useSearch({ from: "/p/$pid/benchmarks/$bid" });
  const navigate = useNavigate({ from: "/p/$pid/benchmarks/$bid" });
  const query = useQuery(benchmarkQuery(bid));
  usePageKeys(menuKey);
  const tab = search.tab ?? "baseline";
  const { cores, batch, engine, metric } = search;
  const view = useMemo<ResultView>(
    () => ({ tab: tab === "cores" || tab === "batches" ? tab : "baseline", metric: metric ?? "ms_item", cores, batch, engine }),
    [tab, cores, batch, engine, metric],
  );
  const change: Change = (changed) => void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  if (query.isError) {
    return (
      <Page title={`Benchmark ${bid}`}>
        <Trouble error={query.error} retry={() => void query.refetch()} />
      </Page>
    );
  }
  if (!query.data) {
    return (
      <Page title={`Benchmark ${bid}`}>
        <Skeleton height={40} />
        <Skeleton height={380} />
      </Page>
    );
  }
  const benchmark = query.data;
  const isRunning = isActive(benchmark.state);
  const hasNumbers = benchmark.cells.some((cell) => cell.latency_ms !== null);
  return (
    <Page
      title={`#${benchmark.id} ${benchmark.name}`}
      actions={
        <BenchmarkMenu
          row={benchmark}
          onCreated={(id) => void navigate({ to: "/p/$pid/benchmarks/$bid", params: { pid, bid: id }, search: {} })}
          onRemoved={() => void navigate({ to: "/p/$pid/benchmarks", params: { pid }, search: {} })}
        />
      }
    >
      <Group gap="sm">
        <StateBadge state={benchmark.state}>{stateWord(benchmark)}</StateBadge>
        <WorstNoiseBadge of={benchmark} />
        <SurpriseBadge texts={surprisesOf(benchmark.cells)} />
        <SurpriseBadge texts={unusualOutputsOf(benchmark.cells)}>unusual outputs</SurpriseBadge>
        {benchmark.rerun_of !== null && (
          <Badge component={Link} to={`/p/${pid}/benchmarks/${benchmark.rerun_of}`} variant="outline" color="gray" tt="none" style={{ cursor: "pointer" }}>
            re-run of #{benchmark.rerun_of}
          </Badge>
        )}
        <Text size="sm" className="dim">
          <Anchor component={Link} to={`/p/${pid}/models/${benchmark.model_id}`} size="sm" underline="always">
            {benchmark.model_name}
          </Anchor>{" "}
          · {[setupText(benchmark), axesText(benchmark)].filter(Boolean).join(" · ")} · <Ago at={benchmark.last_run_at ?? benchmark.created_at} />
          {benchmark.latest_run && ` · run #${benchmark.latest_run.number}`}
        </Text>
      </Group>
      <Stopped benchmark={benchmark} />
      <Tabs
        value={tab}
        onChange={(to) =>
          void navigate({ search: (before) => ({ ...before, tab: BENCHMARK_TABS.find((name) => name === to) }), replace: true, resetScroll: false })
        }
      >
        <ScrollingTabs mb="md" label="Views of this benchmark" open={tab}>
          {BENCHMARK_TABS.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {TAB_TITLES[name]}
            </Tabs.Tab>
          ))}
        </ScrollingTabs>
        <Tabs.Panel value={tab}>
          <Stack gap="md">
            {tab === "reproduce" && <ReproduceTab benchmark={benchmark} />}
            {tab === "log" &&
              (benchmark.latest_run ? (
                <LogTab key={benchmark.latest_run.id} run={benchmark.latest_run} isCpu={benchmark.axes.devices.every((device) => device === "cpu")} />
              ) : (
                <Text className="dim">Not run yet.</Text>
              ))}
            {tab === "raw" && <RawTab benchmark={benchmark} view={view} change={change} />}
            {["baseline", "cores", "batches"].includes(tab) && isRunning && <RunningBody benchmark={benchmark} />}
            {["baseline", "cores", "batches"].includes(tab) && !isRunning && hasNumbers && (
              <Results
                cells={benchmark.cells}
                runId={benchmark.latest_run?.id ?? null}
                view={view}
                change={change}
                hasTabs={false}
                beside={<Versus id={benchmark.id} versus={benchmark.vs_baseline} />}
                below={(choice) =>
                  tab === "baseline" ? (
                    choice.chosen && <Trend id={bid} pid={pid} cell={choice.chosen} view={view} />
                  ) : (
                    <CoresByBatches cells={benchmark.cells} choice={choice} view={view} change={change} />
                  )
                }
              />
            )}
            {["baseline", "cores", "batches"].includes(tab) && !isRunning && !hasNumbers && <Text className="dim">It has no numbers.</Text>}
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
