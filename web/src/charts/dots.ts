import type { ScatterSeriesOption } from "echarts/charts";

import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import type { Look } from "@/charts/palette";
import { spanSeries } from "@/charts/spans";
import { decimals, fixedText, quantity } from "@/format/numbers";

export type Dot = { row: string; value: number; low: number | null; high: number | null; sessions: number | null; isNoisy: boolean };
export type DotSeries = { name: string; look: (isDark: boolean) => Look; dots: readonly Dot[] };
export type Dots = {
  /** From top to bottom. */
  rows: readonly string[];
  /** What a row is: "cell". */
  row: string;
  metric: string;
  unit: string;
  series: readonly DotSeries[];
  /** Where several charts share an axis: its end. */
  most?: number;
};

const ROW = 34;
export const dotsHeight = ({ rows, series }: Dots): number => 84 + rows.length * Math.max(ROW, 16 * series.length);

/** The largest that is drawn, so that small multiples share it. */
export function largestValue(series: readonly DotSeries[]): number {
  return Math.max(0, ...series.flatMap(({ dots }) => dots.map(({ value, high }) => high ?? value)));
}

/** A row for each cell, a dot with its interval for each series, so that overlaps are visible. */
export function drawDots(dots: Dots): Drawing {
  return ({ isDark, ink, dim, line, paper }) => {
    const plotted = dots.series.flatMap((entry, index) => {
      const { color, mark } = entry.look(isDark);
      const lower = (index - (dots.series.length - 1) / 2) * 13;
      const marks: ScatterSeriesOption = {
        name: entry.name,
        type: "scatter",
        symbol: mark,
        symbolSize: 11,
        symbolOffset: [0, lower],
        z: 5,
        itemStyle: { color },
        data: entry.dots.map((dot) => ({
          value: [dot.value, dot.row],
          // Hollow: not to be relied on.
          itemStyle: dot.isNoisy ? { color: paper, borderColor: color, borderWidth: 2, borderType: "dashed" } : { color },
          name: `${dot.row}: ${dotText(dot, dots.unit)}${dot.isNoisy ? " (noisy)" : ""}`,
        })),
      };
      return [
        marks,
        spanSeries(
          entry.dots.flatMap((dot) => (dot.low === null || dot.high === null ? [] : [{ row: dot.row, low: dot.low, high: dot.high, color, lower }])),
          entry.name,
        ),
      ];
    });
    return {
      grid: { left: 8, right: 28, top: 8, bottom: 24, containLabel: true, outerBoundsMode: "same" },
      legend: { ...LEGEND, textStyle: { color: ink }, data: dots.series.map(({ name }) => name) },
      tooltip: { trigger: "item", confine: true, formatter: "{a}<br>{b}" },
      xAxis: {
        type: "value",
        min: 0,
        max: dots.most,
        name: dots.metric,
        nameLocation: "middle",
        nameGap: 28,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink, hideOverlap: true, showMaxLabel: dots.most === undefined },
        splitLine: { lineStyle: { color: line } },
      },
      yAxis: rowsAxis(dots.rows, ink, line),
      series: plotted,
    };
  };
}

/** For exported pictures; a page has its own legend above the chart. */
export const LEGEND = { itemWidth: 14, itemHeight: 11 } as const;

/** Rows with every one labelled, the first on top. */
export function rowsAxis(rows: readonly string[], ink: string, line: string): object {
  return {
    type: "category",
    inverse: true,
    data: [...rows],
    // Long names take two lines: the chart needs the room more.
    axisLabel: { color: ink, interval: 0, width: 130, overflow: "break", lineHeight: 14 },
    axisLine: { show: true, lineStyle: { color: line } },
    axisTick: { show: false },
  };
}

export function dotText(dot: Dot, unit: string): string {
  const figure = quantity(dot.value, dot.low === null || dot.high === null ? null : [dot.low, dot.high], unit);
  return `${figure.value}${figure.spread ? ` ${figure.spread}` : ""} ${unit}`;
}

export function dotsTable(dots: Dots): ChartTable {
  return {
    columns: ["series", dots.row, dots.metric, "95 % low, a repeat", "95 % high, a repeat", "sessions", "quality"],
    rows: dots.series.flatMap(({ name, dots: seriesDots }) =>
      seriesDots.map((dot) => [name, dot.row, dot.value, dot.low, dot.high, dot.sessions, dot.isNoisy ? "noisy" : ""]),
    ),
  };
}

export function dotsSummary(dots: Dots): string {
  const sentences = dots.series.flatMap(({ name, dots: seriesDots }) => {
    const values = seriesDots.map(({ value }) => value).sort((a, b) => a - b);
    const [least] = values;
    const most = values[values.length - 1];
    if (least === undefined || most === undefined) return [];
    const text = (value: number) => fixedText(value, decimals(value, 3));
    return [`${name}: ${least === most ? text(least) : `${text(least)} to ${text(most)}`} ${dots.unit}`];
  });
  return sentences.length > 0 ? `${sentences.join("; ")}.` : "Nothing measured yet.";
}
