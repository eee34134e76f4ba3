import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { METRICS, type Metric } from "@/api/figures";
import { benchmarkQuery, benchmarksQuery } from "@/api/queries";
import type { BenchmarkDetailsDocument, CellDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { engineLook } from "@/charts/palette";
import { drawScaling, overlap, pointText, scalingTable, type Point, type Scaling } from "@/charts/scaling";
import { variantOf } from "@/features/benchmarks/results/cells";
import { lineageOf } from "@/features/benchmarks/results/lineage";
import type { ResultView } from "@/features/benchmarks/results/view";
import { cellName } from "@/format/words";

const MOST_DRAWN = 12; // re-runs: the newest

/** The same cell over all re-runs of a benchmark: whether it changes. */
export function Trend({ id, pid, cell, view }: { id: number; pid: number; cell: CellDocument; view: ResultView }) {
  const rows = useInfiniteQuery(benchmarksQuery({ project_id: pid, state: "done", limit: 200 })).data?.pages[0]?.items;
  const line = useMemo(() => lineageOf(id, rows ?? []).slice(-MOST_DRAWN), [id, rows]);
  // Combined, so that it is the same array until a result changes.
  const reruns = useQueries({
    queries: line.length > 1 ? line.map((row) => benchmarkQuery(row.id)) : [],
    combine: (results) => results.flatMap(({ data }) => (data ? [data] : [])),
  });
  const scaling = useMemo(() => trendOf(reruns, cell, view.metric), [reruns, cell, view.metric]);
  const draw = useMemo(() => drawScaling(scaling), [scaling]);
  const points = scaling.series[0]?.points ?? [];
  if (points.length < 2) return null;
  return (
    <Chart
      title={`Trend over re-runs at ${cellName(cell)}`}
      summary={trendSummary(points, scaling.unit)}
      reading="One point for each re-run of this benchmark, by its number; the oldest at the left. Bars are where a repeat was expected (95 %): where they overlap, nothing has clearly changed. Hollow marks are noisy."
      draw={draw}
      table={scalingTable(scaling)}
      height={220}
    />
  );
}

function trendOf(reruns: readonly BenchmarkDetailsDocument[], cell: CellDocument, metric: Metric): Scaling {
  const { label, unit, isRate, of } = METRICS[metric];
  return {
    along: "benchmark",
    metric: label,
    unit,
    isRate,
    hasIdeal: false,
    intervals: "a repeat",
    series: [
      {
        name: cellName(cell),
        look: (isDark) => engineLook(cell.engine, isDark),
        points: reruns.flatMap((rerun) => {
          const same = rerun.cells.find((other) => variantOf(other) === variantOf(cell) && other.cores === cell.cores && other.batch_size === cell.batch_size);
          const figure = same ? of(same) : null;
          return same && figure
            ? [{ x: rerun.id, value: figure.value, low: figure.low, high: figure.high, sessions: same.sessions, isNoisy: same.noise !== "quiet" }]
            : [];
        }),
      },
    ],
  };
}

/** The first against the last, and nothing ranked that overlaps. */
export function trendSummary(points: readonly Point[], unit: string): string {
  const [first] = points;
  const last = points[points.length - 1];
  if (!first || !last || first === last) return "Not run again yet.";
  const change = overlap(first, last) ? "no clear change" : "their intervals do not overlap";
  return `#${first.x}: ${pointText(first, unit)}; #${last.x}: ${pointText(last, unit)}; ${change}.`;
}
