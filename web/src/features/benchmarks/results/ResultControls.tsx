import { Group } from "@mantine/core";

import { METRICS, METRIC_NAMES, type Metric } from "@/api/figures";
import { type Choice, variantOf } from "@/features/benchmarks/results/cells";
import type { Change, Looked } from "@/features/benchmarks/results/view";
import { Choose } from "@/ui/Choose";

const options = (values: readonly number[]) => values.map((value) => ({ value: String(value), label: String(value) }));

/** The drop-downs: chart and numbers follow them together. */
export function ResultControls({ choice, looked, change }: { choice: Choice; looked: Looked; change: Change }) {
  const { chosen, variants, cores, batches } = choice;
  if (!chosen) return null;
  const metrics = METRIC_NAMES.map((metric) => ({ value: metric, label: METRICS[metric].label }));
  return (
    <Group gap="xs" align="flex-end">
      {looked.tab !== "baseline" && <Choose label="Metric" value={looked.metric} options={metrics} change={(value) => change({ metric: metricOf(value) })} />}
      {variants.length > 1 && <Choose label="Engine" value={variantOf(chosen)} options={variants} change={(engine) => change({ engine })} />}
      {looked.tab !== "cores" && (
        <Choose label="Cores" value={String(chosen.cores)} options={options(cores)} change={(value) => change({ cores: Number(value) })} />
      )}
      {looked.tab !== "batches" && (
        <Choose label="Batch size" value={String(chosen.batch_size)} options={options(batches)} change={(value) => change({ batch: Number(value) })} />
      )}
    </Group>
  );
}

function metricOf(value: string): Metric {
  return METRIC_NAMES.find((metric) => metric === value) ?? "ms_item";
}
