import { Group } from "@mantine/core";

import { METRICS, METRIC_NAMES, type Metric } from "@/api/figures";
import { type Choice, variantOf } from "@/features/benchmarks/results/cells";
import type { Change, ResultView } from "@/features/benchmarks/results/view";
import { Choose } from "@/ui/Choose";

const options = (values: readonly number[]) => values.map((value) => ({ value: String(value), label: String(value) }));

/** The drop-downs: chart and numbers follow them together. */
export function ResultControls({ choice, view, change }: { choice: Choice; view: ResultView; change: Change }) {
  const { chosen, variants, cores, batches } = choice;
  if (!chosen) return null;
  const metrics = METRIC_NAMES.map((metric) => ({ value: metric, label: METRICS[metric].label }));
  return (
    <Group gap="xs" align="flex-end">
      {view.tab !== "baseline" && <Choose label="Metric" value={view.metric} options={metrics} change={(value) => change({ metric: metricOf(value) })} />}
      {variants.length > 1 && <Choose label="Engine" value={variantOf(chosen)} options={variants} change={(engine) => change({ engine })} />}
      {view.tab !== "cores" && (
        <Choose label="Cores" value={String(chosen.cores)} options={options(cores)} change={(value) => change({ cores: Number(value) })} />
      )}
      {view.tab !== "batches" && (
        <Choose label="Batch size" value={String(chosen.batch_size)} options={options(batches)} change={(value) => change({ batch: Number(value) })} />
      )}
    </Group>
  );
}

function metricOf(value: string): Metric {
  return METRIC_NAMES.find((metric) => metric === value) ?? "ms_item";
}
