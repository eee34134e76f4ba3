import { useMemo } from "react";

import { METRICS, withinRun } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { drawHeatMap, heatMapHeight, heatMapSummary, heatMapTable, squareOf, type HeatMap } from "@/charts/heatMap";
import { variantOf, type Choice } from "@/features/benchmarks/results/cells";
import type { Change, ResultView } from "@/features/benchmarks/results/view";

/** All cells of one engine at a glance, where both axes were measured; a click leads to the baseline of a cell. */
export function CoresByBatches({ cells, choice, view, change }: { cells: readonly CellDocument[]; choice: Choice; view: ResultView; change: Change }) {
  const { chosen, cores, batches } = choice;
  const map = useMemo<HeatMap | null>(() => {
    if (!chosen) return null;
    const { label, unit, isRate } = METRICS[view.metric];
    const own = cells.filter((cell) => variantOf(cell) === variantOf(chosen));
    return { metric: label, unit, isRate, squares: own.map((cell) => squareFrom(cell, view)) };
  }, [cells, chosen, view]);
  const draw = useMemo(() => map && drawHeatMap(map), [map]);
  if (!map || !draw || cores.length < 2 || batches.length < 2) return null;
  const pick = (name: string) => {
    const position = squareOf(name);
    if (position) change({ tab: "baseline", ...position });
  };
  return (
    <Chart
      title={`${map.metric}, cores × batch sizes`}
      summary={heatMapSummary(map)}
      reading="The stronger the colour, the better. Dashed with “~”: the machine was not quiet. Click a square to see that cell; the table has the 95 % intervals over this run's sessions."
      draw={draw}
      table={heatMapTable(map)}
      height={heatMapHeight(map)}
      pick={pick}
    />
  );
}

function squareFrom(cell: CellDocument, view: ResultView) {
  const figure = withinRun(METRICS[view.metric].of(cell));
  return {
    cores: cell.cores,
    batch: cell.batch_size,
    value: figure?.value ?? null,
    low: figure?.low ?? null,
    high: figure?.high ?? null,
    sessions: cell.sessions,
    isNoisy: figure !== null && cell.noise !== null && cell.noise !== "quiet",
  };
}
