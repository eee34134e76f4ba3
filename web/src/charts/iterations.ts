import type { OutliersDocument } from "@/api/parts";
import type { DistributionDocument } from "@/api/schema.gen";
import { EXACT } from "@/charts/exact";
import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { errorBars } from "@/charts/errorBars";
import type { Look } from "@/charts/palette";
import { count, decimals, fixedText, plural } from "@/format/numbers";

/** Enough to see, few enough to draw. */
export const MOST_POINTS = 1200;

export type Iterations = {
  distribution: DistributionDocument;
  /** Typical, as the API gives it, with its interval. */
  typical: { value: number; low: number | null; high: number | null } | null;
  look: (isDark: boolean) => Look;
};

/** Where the drawing ends: the server's last bin ends there too. */
function upperEdge({ histogram }: DistributionDocument): number {
  return histogram.edges_ms[histogram.edges_ms.length - 1] ?? Infinity;
}

export function drawIterations({ distribution, typical, look }: Iterations): Drawing {
  const { samples, mean_ms, median_ms, outliers } = distribution;
  const limit = upperEdge(distribution);
  const isParted = Math.abs(mean_ms - median_ms) > 0.05 * median_ms;
  return ({ isDark, ink, dim, line, paper }) => {
    const { color } = look(isDark);
    const lineAt = (name: string, value: number) => ({
      yAxis: value,
      // Apart, for the two lie close together; beyond the points, which are above the median.
      label: { formatter: name, position: name === "mean" ? "insideStartTop" : "insideStartBottom", color: ink },
      lineStyle: { color: ink, type: name === "mean" ? "dotted" : "solid", width: 1 },
    });
    const points = distribution.points.map(({ iteration, ms }) => {
      return {
        value: [iteration, Math.min(ms, limit)],
        symbol: ms > limit ? "triangle" : "circle",
        itemStyle: isOutlier(ms, outliers) ? { color: paper, borderColor: color, borderWidth: 1 } : { color, opacity: 0.55 },
      };
    });
    const bars = typical && typical.low !== null && typical.high !== null ? [{ x: samples, low: typical.low, high: typical.high }] : [];
    return {
      grid: { left: 8, right: 24, top: 28, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      xAxis: {
        type: "value",
        min: 0,
        max: samples,
        name: "iteration",
        nameLocation: "middle",
        nameGap: 26,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink, showMaxLabel: true, hideOverlap: true, formatter: (value: number) => count(value) },
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
          markArea: { silent: true, itemStyle: { color, opacity: 0.14 }, data: [[{ yAxis: distribution.low_ms }, { yAxis: distribution.high_ms }]] },
          markLine: {
            silent: true,
            precision: EXACT,
            symbol: "none",
            data: [lineAt("median", median_ms), ...(isParted && mean_ms <= limit ? [lineAt("mean", mean_ms)] : [])],
          },
        },
        errorBars(bars, ink),
      ],
    };
  };
}

/** Slow samples are flagged only while they are exceptions. */
export function isOutlier(ms: number, { limit_ms, has_several_peaks }: OutliersDocument): boolean {
  return ms > limit_ms && !has_several_peaks;
}

/** A line for each session: what the interval counts. */
export function iterationsTable({ distribution }: Iterations): ChartTable {
  const rows = distribution.by_session.map(({ samples, median_ms, low_ms, high_ms }, index) => [index + 1, samples, median_ms, low_ms, high_ms]);
  return { columns: ["session", "samples", "median ms per batch", "p10", "p90"], rows };
}

export function iterationsSummary({ distribution }: Iterations): string {
  const { samples, median_ms, outliers, histogram, samples_per_point } = distribution;
  const parts = [
    `${count(samples)} iterations, half of them below ${fixedText(median_ms, decimals(median_ms, 3))} ms per batch`,
    outliers.has_several_peaks
      ? `the distribution has more than one peak: ${count(outliers.samples)} took more than 1.5 times as long as the fastest`
      : `${plural(outliers.samples, "outlier")} flagged`,
  ];
  if (histogram.above > 0) parts.push(`${count(histogram.above)} above the scale, drawn at its top`);
  if (samples_per_point > 1) parts.push(`one of ${samples_per_point} is drawn`);
  return `${parts.join("; ")}.`;
}
