import { Group, Tabs } from "@mantine/core";
import { useMemo, type ReactNode } from "react";

import type { CellDocument } from "@/api/schema.gen";
import { ResultBody } from "@/features/benchmarks/results/ResultBody";
import { ResultControls } from "@/features/benchmarks/results/ResultControls";
import { SizeScaling } from "@/features/benchmarks/results/SizeScaling";
import { choose, type Choice } from "@/features/benchmarks/results/cells";
import { RESULT_TABS, TAB_WORDS, type Change, type ResultView, type ResultTab } from "@/features/benchmarks/results/view";
import { ScrollingTabs } from "@/ui/ScrollingTabs";

type Props = {
  cells: readonly CellDocument[];
  runId: string | null;
  view: ResultView;
  change: Change;
  hasTabs?: boolean;
  beside?: ReactNode;
  /** What else to show for the chosen cell. */
  below?: (choice: Choice) => ReactNode;
};

/** What a benchmark measured: tabs, drop-downs, numbers and chart. */
export function Results({ cells, runId, view, change, hasTabs = true, beside, below }: Props) {
  const choice = useMemo(() => choose(cells, view), [cells, view]);
  return (
    <>
      <Group justify="space-between" align="flex-end" gap="sm">
        {hasTabs ? (
          <Tabs maw="100%" value={view.tab} onChange={(tab) => change({ tab: tabOf(tab) })}>
            <ScrollingTabs label="Views of the result" open={view.tab}>
              {RESULT_TABS.map((tab) => (
                <Tabs.Tab key={tab} value={tab}>
                  {TAB_WORDS[tab]}
                </Tabs.Tab>
              ))}
            </ScrollingTabs>
          </Tabs>
        ) : (
          <span />
        )}
        <ResultControls choice={choice} view={view} change={change} />
      </Group>
      <ResultBody cells={cells} choice={choice} view={view} runId={runId} beside={beside} />
      {choice.chosen && <SizeScaling cells={cells} chosen={choice.chosen} view={view} />}
      {below?.(choice)}
    </>
  );
}

function tabOf(value: string | null): ResultTab {
  return RESULT_TABS.find((tab) => tab === value) ?? "baseline";
}
