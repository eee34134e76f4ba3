import { EXACT } from "@/charts/exact";
import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { LEGEND } from "@/charts/dots";
import type { Look } from "@/charts/palette";
import { fixedText, decimals } from "@/format/numbers";

/** `line` is what stays the same along a line: one number of cores; `label` is the row without what all rows share. */
export type TradeoffPoint = { row: string; label: string; line: string; latency: number; rate: number; isWinner: boolean; isNoisy: boolean };
export type Curve = { name: string; look: (isDark: boolean) => Look; points: readonly TradeoffPoint[] };

/** Items per second over the time of a batch; what a limit rules out is shaded, what wins is a star. */
export function drawTradeoff(curves: readonly Curve[], limitMs: number | null): Drawing {
  const most = Math.max(limitMs ?? 0, ...curves.flatMap(({ points }) => points.map(({ latency }) => latency)));
  // Away from the nearer edge: the left one has the numbers of the axis.
  const inward = ({ latency }: TradeoffPoint) => ({ show: true, minMargin: 4, position: "top", align: latency < most / 2 ? "left" : "right" });
  return ({ isDark, ink, dim, line, paper }) => ({
    grid: { left: 8, right: 28, top: 36, bottom: 24, containLabel: true, outerBoundsMode: "same" },
    legend: { ...LEGEND, textStyle: { color: ink }, data: curves.map(({ name }) => name) },
    tooltip: { trigger: "item", confine: true, formatter: "{a}<br>{b}" },
    xAxis: {
      type: "value",
      min: 0,
      // A limit beyond all points is still visible.
      max: limitMs === null ? undefined : (extent: { max: number }) => Math.max(extent.max, limitMs) * 1.08,
      name: "ms per batch",
      nameLocation: "middle",
      nameGap: 28,
      nameTextStyle: { color: dim },
      axisLabel: { color: ink, hideOverlap: true, showMaxLabel: false },
      splitLine: { lineStyle: { color: line } },
    },
    yAxis: {
      type: "value",
      min: 0,
      name: "items per second",
      nameTextStyle: { color: dim, align: "left" },
      axisLabel: { color: ink },
      splitLine: { lineStyle: { color: line } },
    },
    series: curves.flatMap(splitIntoLines).map(({ name, look, points }, index) => {
      const { color, mark, dash } = look(isDark);
      return {
        name,
        type: "line",
        symbol: mark,
        symbolSize: 10,
        labelLayout: { hideOverlap: true },
        lineStyle: { color, type: dash, width: 1.5 },
        itemStyle: { color },
        data: [...points]
          .sort((a, b) => a.latency - b.latency)
          .map((point) => ({
            value: [point.latency, point.rate],
            name: `${point.row}: ${shortNumber(point.rate)} items/s at ${shortNumber(point.latency)} ms`,
            // Hollow: not to be relied on.
            itemStyle: point.isNoisy ? { color: paper, borderColor: color, borderWidth: 2 } : { color },
            label: point.isWinner
              ? { ...inward(point), formatter: `★ ${point.label}`, color: ink, fontSize: 14 }
              : { ...inward(point), formatter: point.label, color: dim, fontSize: 11 },
          })),
        ...(index === 0 && limitMs !== null ? limitMarks(limitMs, isDark, ink) : {}),
      };
    }),
  });
}

/** A line joins cells that differ in the batch size only. */
export function splitIntoLines(curve: Curve): Curve[] {
  const lines = [...new Set(curve.points.map(({ line }) => line))];
  return lines.map((line) => ({ ...curve, points: curve.points.filter((point) => point.line === line) }));
}

function limitMarks(limitMs: number, isDark: boolean, ink: string): object {
  return {
    markLine: {
      silent: true,
      precision: EXACT,
      symbol: "none",
      lineStyle: { color: ink, type: "dashed" },
      label: { formatter: "limit", color: ink, position: "end" },
      data: [{ xAxis: limitMs }],
    },
    markArea: { silent: true, itemStyle: { color: isDark ? "rgba(255,255,255,0.06)" : "rgba(0,0,0,0.05)" }, data: [[{ xAxis: limitMs }, {}]] },
  };
}

const shortNumber = (value: number) => fixedText(value, decimals(value, 3));

export function tradeoffTable(curves: readonly Curve[]): ChartTable {
  return {
    columns: ["series", "cell", "ms per batch", "items per second", "sweet spot"],
    rows: curves.flatMap(({ name, points }) => points.map((point) => [name, point.row, point.latency, point.rate, point.isWinner ? "★" : ""])),
  };
}
