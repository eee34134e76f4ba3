import { EXACT } from "@/charts/exact";
import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { errorBars } from "@/charts/errorBars";
import type { Look } from "@/charts/palette";
import { percentile, shapeOf, visibleUntil, type Samples } from "@/charts/samples";
import { count, decimals, plain, plural } from "@/format/numbers";

const MOST_POINTS = 1200;

export type Iterations = {
  samples: Samples;
  /** Typical, as the API told it, with its interval. */
  typical: { value: number; low: number | null; high: number | null } | null;
  look: (isDark: boolean) => Look;
};

/** Every k-th: enough to see, few enough to draw. */
export function thinned(n: number, most = MOST_POINTS): number[] {
  const step = Math.max(1, Math.ceil(n / most));
  return Array.from({ length: Math.ceil(n / step) }, (_, place) => place * step);
}

export function drawIterations({ samples, typical, look }: Iterations): Drawing {
  const { ms } = samples;
  const shape = shapeOf(ms);
  const until = visibleUntil(shape);
  const shown = thinned(ms.length);
  const isParted = Math.abs(shape.mean - shape.median) > 0.05 * shape.median;
  return ({ isDark, ink, dim, line, paper }) => {
    const { color } = look(isDark);
    const at = (name: string, value: number) => ({
      yAxis: value,
      // Apart, for the two lie close together; beyond the points, which are above the median.
      label: { formatter: name, position: name === "mean" ? "insideStartTop" : "insideStartBottom", color: ink },
      lineStyle: { color: ink, type: name === "mean" ? "dotted" : "solid", width: 1 },
    });
    const points = shown.map((place) => {
      const value = ms[place] ?? NaN;
      const isFar = value > shape.limit && !shape.hasPeaks;
      return {
        value: [place + 1, Math.min(value, until)],
        symbol: value > until ? "triangle" : "circle",
        itemStyle: isFar ? { color: paper, borderColor: color, borderWidth: 1 } : { color, opacity: 0.55 },
      };
    });
    const bars = typical && typical.low !== null && typical.high !== null ? [{ x: ms.length, low: typical.low, high: typical.high }] : [];
    return {
      grid: { left: 8, right: 24, top: 28, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      xAxis: {
        type: "value",
        min: 0,
        max: ms.length,
        name: "iteration",
        nameLocation: "middle",
        nameGap: 26,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink, showMaxLabel: true, hideOverlap: true, formatter: (at: number) => count(at) },
        splitLine: { show: false },
        axisLine: { lineStyle: { color: line } },
      },
      yAxis: {
        type: "value",
        min: 0,
        name: "ms per batch",
        nameTextStyle: { color: dim, align: "left" },
        axisLabel: { color: ink },
        splitLine: { lineStyle: { color: line } },
      },
      series: [
        {
          type: "scatter",
          symbolSize: 4,
          silent: true,
          data: points,
          markArea: { silent: true, itemStyle: { color, opacity: 0.14 }, data: [[{ yAxis: shape.p10 }, { yAxis: shape.p90 }]] },
          markLine: {
            silent: true,
            precision: EXACT,
            symbol: "none",
            data: [at("median", shape.median), ...(isParted && shape.mean <= until ? [at("mean", shape.mean)] : [])],
          },
        },
        errorBars(bars, ink),
      ],
    };
  };
}

/** A line for each session: what the interval counts. */
export function iterationsTable({ samples }: Iterations): ChartTable {
  const rows: (number | null)[][] = [];
  let from = 0;
  for (let place = 1; place <= samples.ms.length; place += 1) {
    if (place < samples.ms.length && samples.sessions[place] === samples.sessions[from]) continue;
    const sorted = samples.ms.slice(from, place).sort();
    rows.push([rows.length + 1, place - from, percentile(sorted, 0.5), percentile(sorted, 0.1), percentile(sorted, 0.9)]);
    from = place;
  }
  return { columns: ["session", "samples", "median ms per batch", "p10", "p90"], rows };
}

export function iterationsSummary({ samples }: Iterations): string {
  const shape = shapeOf(samples.ms);
  if (samples.ms.length === 0) return "No samples.";
  const until = visibleUntil(shape);
  const above = samples.ms.filter((one) => one > until).length;
  const step = Math.max(1, Math.ceil(samples.ms.length / MOST_POINTS));
  const told = [
    `${count(samples.ms.length)} iterations, half of them below ${plain(shape.median, decimals(shape.median, 3))} ms per batch`,
    shape.hasPeaks
      ? `they have more than one peak: ${count(shape.outliers)} took over half as long again as the quickest`
      : `${plural(shape.outliers, "outlier")} flagged`,
  ];
  if (above > 0) told.push(`${count(above)} beyond the upper edge, drawn on it`);
  if (step > 1) told.push(`one of ${step} is drawn`);
  return `${told.join("; ")}.`;
}
