import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { METRICS } from "@/api/figures";
import { benchmarkQuery, benchmarksQuery } from "@/api/queries";
import type { CellDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { engineLook } from "@/charts/palette";
import { drawScaling, overlap, pointText, scalingTable, type Point, type Scaling } from "@/charts/scaling";
import { variantOf } from "@/features/benchmarks/cells";
import { lineageOf } from "@/features/benchmarks/lineage";
import type { Looked } from "@/features/benchmarks/view";
import { cellName } from "@/format/words";

const MOST_DRAWN = 12; // re-runs: the newest

/** The same cell over all re-runs of a benchmark: whether it stays where it was. */
export function Trend({ id, pid, cell, looked }: { id: number; pid: number; cell: CellDocument; looked: Looked }) {
  const rows = useInfiniteQuery(benchmarksQuery({ project_id: pid, state: "done", limit: 200 })).data?.pages[0]?.items;
  const line = useMemo(() => lineageOf(id, rows ?? []).slice(-MOST_DRAWN), [id, rows]);
  const found = useQueries({ queries: line.length > 1 ? line.map((row) => benchmarkQuery(row.id)) : [] });
  const told = found.flatMap(({ data }) => (data ? [data] : []));
  const { label, unit, isRate } = METRICS[looked.metric];
  const scaling: Scaling = {
    along: "benchmark",
    metric: label,
    unit,
    isRate,
    hasIdeal: false,
    series: [
      {
        name: cellName(cell),
        look: (isDark) => engineLook(cell.engine, isDark),
        points: told.flatMap((one) => {
          const same = one.cells.find((other) => variantOf(other) === variantOf(cell) && other.cores === cell.cores && other.batch_size === cell.batch_size);
          const figure = same ? METRICS[looked.metric].of(same) : null;
          return same && figure
            ? [{ x: one.id, value: figure.value, low: figure.low, high: figure.high, sessions: same.sessions, isNoisy: same.noise !== "quiet" }]
            : [];
        }),
      },
    ],
  };
  // Drawn anew when a number comes, not whenever the page is.
  const key = JSON.stringify([scaling.metric, scaling.series[0]?.points]);
  const draw = useMemo(() => drawScaling(scaling), [key]);
  if ((scaling.series[0]?.points.length ?? 0) < 2) return null;
  return (
    <Chart
      title={`Trend over re-runs at ${cellName(cell)}`}
      summary={trendSummary(scaling.series[0]?.points ?? [], unit)}
      reading="One point for each re-run of this benchmark, by its number; the oldest at the left. Bars are 95 % intervals over sessions: where they overlap, nothing has clearly changed. Hollow marks are noisy."
      draw={draw}
      table={scalingTable(scaling)}
      height={220}
    />
  );
}

/** The first against the last, and nothing ranked that overlaps. */
export function trendSummary(points: readonly Point[], unit: string): string {
  const [first] = points;
  const last = points[points.length - 1];
  if (!first || !last || first === last) return "Not run again yet.";
  const change = overlap(first, last) ? "no clear change" : "their intervals do not overlap";
  return `#${first.x}: ${pointText(first, unit)}; #${last.x}: ${pointText(last, unit)}; ${change}.`;
}
