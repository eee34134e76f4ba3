import { useMemo } from "react";

import type { BenchmarkSummary } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { dotsHeight, dotsSummary, dotsTable, drawDots } from "@/charts/dots";
import { dotsSoFar } from "@/features/project/measuredCells";

/** Everything that was measured, in one picture. */
export function SoFar({ rows }: { rows: readonly BenchmarkSummary[] }) {
  const dots = useMemo(() => dotsSoFar(rows), [rows]);
  const draw = useMemo(() => drawDots(dots), [dots]);
  if (dots.rows.length === 0) return null;
  return (
    <Chart
      title="Measured so far"
      legend={dots.series}
      summary={dotsSummary(dots)}
      reading="Dots are the newest number of each cell, bars where a repeat is expected (95 %). Where bars overlap, there is no clear difference. Hollow: the machine was not quiet. No bar: too few sessions for an interval."
      draw={draw}
      table={dotsTable(dots)}
      height={dotsHeight(dots)}
    />
  );
}
