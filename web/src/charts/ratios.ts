import { EXACT } from "@/charts/exact";
import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { rowsAxis } from "@/charts/dots";
import type { Look } from "@/charts/palette";
import { spanSeries } from "@/charts/spans";
import { ratio as ratioText } from "@/format/numbers";

export type Ratio = { row: string; value: number; low: number; high: number; faster: "a" | "b" | null; basis: string };
export type SideLooks = { a: (isDark: boolean) => Look; b: (isDark: boolean) => Look };

export const ratiosHeight = (ratios: readonly Ratio[]): number => 84 + ratios.length * 40;

/** B's time by A's, with the line at 1: an interval that crosses it is grey: no clear difference. */
export function drawRatios(ratios: readonly Ratio[], looks: SideLooks): Drawing {
  const rows = ratios.map(({ row }) => row);
  return ({ isDark, ink, dim, line }) => {
    const unclear = isDark ? "#8d97a2" : "#7a838d";
    const color = (ratio: Ratio) => (ratio.faster ? looks[ratio.faster](isDark).color : unclear);
    const mark = (ratio: Ratio) => (ratio.faster ? looks[ratio.faster](isDark).mark : "emptyCircle");
    const { low, high } = axisEdges(ratios);
    const room = 0.08 * (high - low) || 0.1;
    const clamped = (value: number) => Math.min(high, Math.max(low, value));
    return {
      grid: { left: 8, right: 28, top: 24, bottom: 24, containLabel: true, outerBoundsMode: "same" },
      tooltip: { trigger: "item", confine: true, formatter: "{b}" },
      xAxis: {
        type: "value",
        min: Math.max(0, low - room),
        max: high + room,
        name: "time of B ÷ time of A",
        nameLocation: "middle",
        nameGap: 28,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => `${Number(value.toFixed(3))}×` },
        splitLine: { lineStyle: { color: line } },
      },
      yAxis: rowsAxis(rows, ink, line),
      series: [
        {
          type: "scatter",
          symbolSize: 11,
          z: 5,
          data: ratios.map((ratio) => ({
            value: [clamped(ratio.value), ratio.row],
            symbol: mark(ratio),
            itemStyle: { color: color(ratio) },
            name: `${ratio.row}: ${ratioText(ratio.value, [ratio.low, ratio.high])}, ${verdictText(ratio)}`,
          })),
          markLine: {
            silent: true,
            precision: EXACT,
            symbol: "none",
            lineStyle: { color: ink, type: "solid", width: 1 },
            label: { formatter: "equal", color: dim, position: "start" },
            data: [{ xAxis: 1 }],
          },
        },
        spanSeries(
          ratios.map((ratio) => ({
            row: ratio.row,
            low: clamped(ratio.low),
            high: clamped(ratio.high),
            color: color(ratio),
            isCut: { low: ratio.low < low, high: ratio.high > high },
          })),
        ),
      ],
    };
  };
}

/** An interval wider than this says nothing, unless the verdict is clear all the same. */
const WIDEST = 4;

export function isUnusable({ faster, low, high }: Pick<Ratio, "faster" | "low" | "high">): boolean {
  return faster === null && high > WIDEST * low;
}

/** The ends of the axis: all usable intervals fit. Unusable ones do not stretch it, but are cut off at its ends. */
export function axisEdges(ratios: readonly Pick<Ratio, "faster" | "low" | "high">[]): { low: number; high: number } {
  const useful = ratios.filter((ratio) => !isUnusable(ratio));
  const [low, high] = useful.length > 0 ? [1, 1] : [0.5, 2];
  return { low: Math.min(low, ...useful.map((ratio) => ratio.low)), high: Math.max(high, ...useful.map((ratio) => ratio.high)) };
}

export function verdictText({ faster, low, high }: Pick<Ratio, "faster" | "low" | "high">): string {
  if (isUnusable({ faster, low, high })) return "unusable: the interval is too wide";
  return faster ? `${faster.toUpperCase()} is faster` : "no clear difference";
}

export function ratiosTable(ratios: readonly Ratio[]): ChartTable {
  return {
    columns: ["cell", "time of B ÷ time of A", "95 % low", "95 % high", "verdict", "basis"],
    rows: ratios.map((ratio) => [ratio.row, ratio.value, ratio.low, ratio.high, verdictText(ratio), ratio.basis]),
  };
}

export function ratiosSummary(ratios: readonly Ratio[]): string {
  const texts = ratios.map((ratio) => `${ratio.row}: ${ratioText(ratio.value, [ratio.low, ratio.high])}, ${verdictText(ratio)}`);
  const clear = ratios.filter(({ faster }) => faster).length;
  return texts.length > 3 ? `${texts.length} ratios; ${clear} ${clear === 1 ? "is" : "are"} clear.` : `${texts.join("; ")}.`;
}
