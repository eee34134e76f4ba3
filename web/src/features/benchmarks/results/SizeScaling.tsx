import { useMemo } from "react";

import { METRICS } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { engineLook, look } from "@/charts/palette";
import { drawScaling, scalingLegend, scalingSummary, scalingTable, type Scaling } from "@/charts/scaling";
import { dimensionsOf, sizeSeries } from "@/features/benchmarks/results/cells";
import type { ResultView } from "@/features/benchmarks/results/view";
import { cellName } from "@/format/words";

type Props = { cells: readonly CellDocument[]; chosen: CellDocument; view: ResultView };

/** A chart for each dimension that was measured with several sizes. */
export function SizeScaling({ cells, chosen, view }: Props) {
  const dimensions = useMemo(() => dimensionsOf(cells), [cells]);
  return dimensions.map((dimension) => <AlongSizes key={dimension} dimension={dimension} cells={cells} chosen={chosen} view={view} />);
}

function AlongSizes({ dimension, cells, chosen, view }: Props & { dimension: string }) {
  const scaling = useMemo<Scaling>(() => {
    const { label, unit, isRate } = METRICS[view.metric];
    const series = sizeSeries(cells, dimension, chosen, view.metric);
    const isByEngine = new Set(series.map(({ cell }) => cell.engine)).size === series.length;
    return {
      along: dimension,
      metric: label,
      unit,
      isRate,
      hasIdeal: false,
      intervals: "this run",
      series: series.map(({ cell, name, points }, index) => ({
        name,
        look: (isDark: boolean) => (isByEngine ? engineLook(cell.engine, isDark) : look(index, isDark)),
        points,
      })),
    };
  }, [cells, chosen, dimension, view.metric]);
  const draw = useMemo(() => drawScaling(scaling), [scaling]);
  return (
    <Chart
      title={`Scaling in ${dimension} at ${cellName({ cores: chosen.cores, batch_size: chosen.batch_size })}`}
      legend={scalingLegend(scaling)}
      summary={scalingSummary(scaling)}
      reading="Bars are 95 % intervals over this run's sessions. Hollow marks are noisy."
      draw={draw}
      table={scalingTable(scaling)}
    />
  );
}
