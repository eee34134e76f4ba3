import type { LineSeriesOption } from "echarts/charts";

import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { LEGEND } from "@/charts/dots";
import { errorBars } from "@/charts/errorBars";
import type { LegendEntry } from "@/charts/Legend";
import type { Look } from "@/charts/palette";
import { decimals, fixedText, plural, quantity } from "@/format/numbers";

export type Point = { x: number; value: number | null; low: number | null; high: number | null; sessions: number | null; isNoisy: boolean };
export type Series = { name: string; look: (isDark: boolean) => Look; points: readonly Point[] };
export type Scaling = {
  /** "cores", or "batch size" */
  along: string;
  /** "ms per item" */
  metric: string;
  unit: string;
  /** More is better: items per second. */
  isRate: boolean;
  series: readonly Series[];
  /** Cores twice as many ought to be twice as quick; a batch twice as large promises nothing. */
  hasIdeal: boolean;
  /** What the bars are of: cells of one run, or separate runs. */
  intervals: "this run" | "a repeat";
};

type MeasuredPoint = Point & { value: number };
const isMeasured = (point: Point): point is MeasuredPoint => point.value !== null;
const measuredPoints = (points: readonly Point[]): MeasuredPoint[] => points.filter(isMeasured).sort((a, b) => a.x - b.x);

/** What perfect scaling from the fewest cores would give, at each x. */
export function idealOf(points: readonly Point[], isRate: boolean): { x: number; value: number }[] {
  const measured = measuredPoints(points);
  const first = measured[0];
  if (!first || measured.length < 2) return [];
  return measured.map(({ x }) => ({ x, value: isRate ? (first.value * x) / first.x : (first.value * first.x) / x }));
}

/** Share of the ideal that was reached, by x. */
export function efficiencies(points: readonly Point[], isRate: boolean): Map<number, number> {
  const ideal = new Map(idealOf(points, isRate).map(({ x, value }) => [x, value]));
  const shares = new Map<number, number>();
  for (const { x, value } of measuredPoints(points)) {
    const best = ideal.get(x);
    if (best !== undefined && value > 0) shares.set(x, isRate ? value / best : best / value);
  }
  return shares;
}

export function xsOf(series: readonly Series[]): number[] {
  return [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
}

export function drawScaling(scaling: Scaling): Drawing {
  const xs = xsOf(scaling.series).map(String);
  return ({ isDark, ink, dim, line, paper }) => {
    const curves = scaling.series.flatMap((series) => {
      const { color, mark, dash } = series.look(isDark);
      const measured = measuredPoints(series.points);
      const efficiencyByX = scaling.hasIdeal ? efficiencies(series.points, scaling.isRate) : new Map<number, number>();
      const bars = measured.flatMap(({ x, low, high }) => (low === null || high === null ? [] : [{ x: String(x), low, high }]));
      const curve: LineSeriesOption = {
        name: series.name,
        type: "line",
        symbol: mark,
        symbolSize: 9,
        lineStyle: { color, type: dash, width: 2 },
        itemStyle: { color },
        z: 5,
        data: measured.map((point, index) => ({
          value: [String(point.x), point.value],
          // Hollow: not to be relied on.
          itemStyle: point.isNoisy ? { color: paper, borderColor: color, borderWidth: 2 } : { color },
          label: {
            show: efficiencyByX.has(point.x) && index > 0,
            // Beside it: above it lies its interval.
            position: "right",
            distance: 10,
            color: dim,
            // No line of the grid through it.
            backgroundColor: paper,
            padding: [1, 3],
            lineHeight: 14,
            formatter: `${Math.round(100 * (efficiencyByX.get(point.x) ?? 0))} %\nefficient`,
          },
        })),
      };
      return [curve, errorBars(bars, color, series.name)];
    });
    const ideals = scaling.hasIdeal
      ? scaling.series
          .filter((series) => idealOf(series.points, scaling.isRate).length > 0)
          .map((series) => ({
            name: idealName(series, scaling),
            type: "line",
            symbol: "none",
            silent: true,
            lineStyle: { color: series.look(isDark).color, type: "dashed", width: 1 },
            itemStyle: { color: series.look(isDark).color },
            data: idealOf(series.points, scaling.isRate).map(({ x, value }) => [String(x), value]),
          }))
      : [];
    return {
      // Room for the label of the last point.
      grid: { left: 8, right: ideals.length > 0 ? 64 : 24, top: 32, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      legend: {
        ...LEGEND,
        textStyle: { color: ink },
        data: [...scaling.series.map(({ name }) => name), ...ideals.map(({ name }) => ({ name, itemStyle: { opacity: 0 } }))],
      },
      tooltip: { trigger: "axis", confine: true, formatter: tooltipOf(scaling) },
      xAxis: {
        type: "category",
        data: xs,
        name: scaling.along,
        nameLocation: "middle",
        nameGap: 28,
        axisLabel: { interval: 0, color: ink, hideOverlap: false },
        axisLine: { lineStyle: { color: line } },
        axisTick: { alignWithLabel: true },
        nameTextStyle: { color: dim },
      },
      yAxis: {
        type: "value",
        min: 0,
        name: scaling.metric,
        nameTextStyle: { color: dim, align: "left" },
        axisLabel: { color: ink },
        splitLine: { lineStyle: { color: line } },
      },
      series: [...curves, ...ideals],
    };
  };
}

const idealName = (series: Series, { series: all }: Scaling): string => (all.length > 1 ? `ideal, ${series.name}` : "ideal");

/** What was measured, and what would be ideal. */
export function scalingLegend(scaling: Scaling): LegendEntry[] {
  const ideals = scaling.hasIdeal ? scaling.series.filter((series) => idealOf(series.points, scaling.isRate).length > 0) : [];
  return [...scaling.series, ...ideals.map((series) => ({ name: idealName(series, scaling), look: series.look, isLine: true }))];
}

function tooltipOf(scaling: Scaling): (params: unknown) => string {
  return (params) => {
    const first: unknown = Array.isArray(params) ? params[0] : params;
    const x = typeof first === "object" && first !== null && "axisValue" in first ? Number(first.axisValue) : NaN;
    const lines = scaling.series.flatMap(({ name, points }) => {
      const point = points.find((other) => other.x === x);
      return point ? [`${escapeHtml(name)}: ${pointText(point, scaling.unit)}${point.isNoisy ? " (noisy)" : ""}`] : [];
    });
    return [`${scaling.along} ${x}`, ...lines].join("<br>");
  };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export function pointText(point: Point, unit: string): string {
  const interval = point.low === null || point.high === null ? null : ([point.low, point.high] as const);
  const figure = quantity(point.value, interval, unit);
  return `${figure.value}${figure.spread ? ` ${figure.spread}` : ""} ${unit}`;
}

export function scalingTable(scaling: Scaling): ChartTable {
  const ends = ["low", "high"].map((end) => `95 % ${end}, ${scaling.intervals}`);
  const columns = ["series", scaling.along, scaling.metric, ...ends, "sessions", "quality", ...(scaling.hasIdeal ? ["efficiency %"] : [])];
  const rows = scaling.series.flatMap(({ name, points }) => {
    const efficiencyByX = efficiencies(points, scaling.isRate);
    return points.map((point) => {
      const share = efficiencyByX.get(point.x);
      const efficiency = scaling.hasIdeal ? [share === undefined ? null : Number((100 * share).toFixed(1))] : [];
      return [name, point.x, point.value, point.low, point.high, point.sessions, point.isNoisy ? "noisy" : "", ...efficiency];
    });
  });
  return { columns, rows };
}

export function scalingSummary(scaling: Scaling): string {
  const texts = scaling.series.flatMap(({ name, points }) => {
    const measured = measuredPoints(points);
    const first = measured[0];
    const last = measured[measured.length - 1];
    if (!first || !last) return [];
    const position = ({ x }: MeasuredPoint) => (scaling.along === "cores" ? plural(x, "core") : `${scaling.along} ${x}`);
    const describe = (point: MeasuredPoint) => `${fixedText(point.value, decimals(point.value, 3))} ${scaling.unit} at ${position(point)}`;
    return [first === last ? `${name}: ${describe(first)}` : `${name}: from ${describe(first)} to ${describe(last)}`];
  });
  return texts.length > 0 ? `${texts.join("; ")}.` : "Nothing measured yet.";
}

/** The best and the worst x; null where their intervals overlap: then there is none. */
export function extremes(points: readonly Point[], isRate: boolean): { best: Point; worst: Point } | null {
  const measured = measuredPoints(points).sort((a, b) => (isRate ? b.value - a.value : a.value - b.value));
  const best = measured[0];
  const worst = measured[measured.length - 1];
  if (!best || !worst || best === worst) return null;
  return { best, worst };
}

/** With too few sessions there is none: then nothing can be compared. */
export function hasInterval(point: Point): boolean {
  return point.low !== null && point.high !== null;
}

export function overlap(a: Point, b: Point): boolean {
  if (a.low === null || a.high === null || b.low === null || b.high === null) return true;
  return a.low <= b.high && b.low <= a.high;
}
