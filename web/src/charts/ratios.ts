import { EXACT } from "@/charts/exact";
import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { rowsAxis } from "@/charts/dots";
import type { Look } from "@/charts/palette";
import { spans } from "@/charts/spans";
import { ratio as ratioText } from "@/format/numbers";

export type Ratio = { row: string; value: number; low: number; high: number; faster: "a" | "b" | null; basis: string };
export type Looks = { a: (isDark: boolean) => Look; b: (isDark: boolean) => Look };

export const ratiosHeight = (ratios: readonly Ratio[]): number => 96 + ratios.length * 40;

/** B's time by A's, with the line at 1: what crosses it is grey, as nothing can be said. */
export function drawRatios(ratios: readonly Ratio[], looks: Looks): Drawing {
  const rows = ratios.map(({ row }) => row);
  return ({ isDark, ink, dim, line }) => {
    const unclear = isDark ? "#8d97a2" : "#7a838d";
    const color = (one: Ratio) => (one.faster ? looks[one.faster](isDark).color : unclear);
    const mark = (one: Ratio) => (one.faster ? looks[one.faster](isDark).mark : "emptyCircle");
    const low = Math.min(1, ...ratios.map((one) => one.low));
    const high = Math.max(1, ...ratios.map((one) => one.high));
    const room = 0.08 * (high - low) || 0.1;
    return {
      grid: { left: 8, right: 28, top: 36, bottom: 24, containLabel: true, outerBoundsMode: "same" },
      tooltip: { trigger: "item", confine: true, formatter: "{b}" },
      xAxis: {
        type: "value",
        min: Math.max(0, low - room),
        max: high + room,
        name: "time of B ÷ time of A",
        nameLocation: "middle",
        nameGap: 28,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (at: number) => `${Number(at.toFixed(3))}×` },
        splitLine: { lineStyle: { color: line } },
      },
      yAxis: rowsAxis(rows, ink, line),
      series: [
        {
          type: "scatter",
          symbolSize: 11,
          z: 5,
          data: ratios.map((one) => ({
            value: [one.value, one.row],
            symbol: mark(one),
            itemStyle: { color: color(one) },
            name: `${one.row}: ${ratioText(one.value, [one.low, one.high])}, ${clearly(one)}`,
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
        spans(ratios.map((one) => ({ row: one.row, low: one.low, high: one.high, color: color(one) }))),
      ],
    };
  };
}

export function clearly({ faster }: Pick<Ratio, "faster">): string {
  return faster ? `${faster.toUpperCase()} is faster` : "no clear difference";
}

export function ratiosTable(ratios: readonly Ratio[]): ChartTable {
  return {
    columns: ["cell", "time of B ÷ time of A", "95 % low", "95 % high", "verdict", "basis"],
    rows: ratios.map((one) => [one.row, one.value, one.low, one.high, clearly(one), one.basis]),
  };
}

export function ratiosSummary(ratios: readonly Ratio[]): string {
  const told = ratios.map((one) => `${one.row}: ${ratioText(one.value, [one.low, one.high])}, ${clearly(one)}`);
  return told.length > 3 ? `${told.length} ratios; ${ratios.filter(({ faster }) => faster).length} are clear.` : `${told.join("; ")}.`;
}
