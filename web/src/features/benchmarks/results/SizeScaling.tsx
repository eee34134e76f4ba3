import { useMemo } from "react";

import { METRICS } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { engineLook, look } from "@/charts/palette";
import { drawScaling, scalingLegend, scalingSummary, scalingTable, type Scaling } from "@/charts/scaling";
import { dimensionsOf, sizeSeries } from "@/features/benchmarks/results/cells";
import type { Looked } from "@/features/benchmarks/results/view";
import { cellName } from "@/format/words";

type Props = { cells: readonly CellDocument[]; chosen: CellDocument; looked: Looked };

/** A chart for each dimension that was measured with several sizes. */
export function SizeScaling({ cells, chosen, looked }: Props) {
  const dimensions = useMemo(() => dimensionsOf(cells), [cells]);
  return dimensions.map((dimension) => <AlongSizes key={dimension} dimension={dimension} cells={cells} chosen={chosen} looked={looked} />);
}

function AlongSizes({ dimension, cells, chosen, looked }: Props & { dimension: string }) {
  const scaling = useMemo<Scaling>(() => {
    const { label, unit, isRate } = METRICS[looked.metric];
    const series = sizeSeries(cells, dimension, chosen, looked.metric);
    const isByEngine = new Set(series.map(({ cell }) => cell.engine)).size === series.length;
    return {
      along: dimension,
      metric: label,
      unit,
      isRate,
      hasIdeal: false,
      intervals: "this run",
      series: series.map(({ cell, name, points }, place) => ({
        name,
        look: (isDark: boolean) => (isByEngine ? engineLook(cell.engine, isDark) : look(place, isDark)),
        points,
      })),
    };
  }, [cells, chosen, dimension, looked.metric]);
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
