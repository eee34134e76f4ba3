import type { DistributionDocument } from "@/api/schema.gen";
import { EXACT } from "@/charts/exact";
import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import type { Look } from "@/charts/palette";
import { count, decimals, fixedText } from "@/format/numbers";

export type Bin = { from: number; to: number; count: number };
export type Mark = { name: string; value: number };

/** The server's bins; one more for what lies beyond the last edge, if anything does. */
export function binsOf({ histogram, max_ms }: Pick<DistributionDocument, "histogram" | "max_ms">): Bin[] {
  const { edges_ms, counts, above } = histogram;
  const bins = counts.map((count, index) => ({ from: edges_ms[index] ?? NaN, to: edges_ms[index + 1] ?? NaN, count }));
  return above > 0 ? [...bins, { from: edges_ms[counts.length] ?? NaN, to: max_ms, count: above }] : bins;
}

export function drawHistogram(bins: readonly Bin[], marks: readonly Mark[], isLog: boolean, look: (isDark: boolean) => Look): Drawing {
  const places = bins.length > 0 ? decimals((bins[0]?.to ?? 1) - (bins[0]?.from ?? 0), 2) : 2;
  const width = (bins[0]?.to ?? 0) - (bins[0]?.from ?? 0);
  // The last may hold everything beyond.
  const names = bins.map(({ from, to }) => `${to - from > 1.001 * width ? "≥ " : ""}${fixedText(from, places)}`);
  return ({ isDark, ink, dim, line }) => {
    const { color } = look(isDark);
    return {
      grid: { left: 8, right: 24, top: 36, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: { trigger: "axis", confine: true, axisPointer: { type: "shadow" } },
      xAxis: {
        type: "category",
        data: names,
        name: "ms per batch",
        nameLocation: "middle",
        nameGap: 28,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink, hideOverlap: true },
        axisLine: { lineStyle: { color: line } },
      },
      yAxis: {
        type: isLog ? "log" : "value",
        min: isLog ? 0.5 : 0,
        name: "samples",
        nameLocation: "middle", // above, it would lie under the names of percentiles
        nameGap: 44,
        nameTextStyle: { color: dim },
        axisLabel: { color: ink },
        splitLine: { lineStyle: { color: line } },
      },
      series: [
        {
          name: "samples",
          type: "bar",
          barCategoryGap: "4%",
          itemStyle: { color },
          data: bins.map((bin) => (isLog && bin.count === 0 ? null : bin.count)),
          markLine: {
            silent: true,
            precision: EXACT,
            symbol: "none",
            lineStyle: { color: ink, type: "dashed" },
            data: marks.flatMap(({ name, value }) => {
              const index = bins.findIndex(({ to }) => value <= to);
              return index < 0 ? [] : [{ xAxis: index, label: { formatter: name, color: ink } }];
            }),
          },
        },
      ],
    };
  };
}

export function histogramTable(bins: readonly Bin[]): ChartTable {
  return { columns: ["from ms per batch", "to", "samples"], rows: bins.map(({ from, to, count: n }) => [from, to, n]) };
}

export function histogramSummary(bins: readonly Bin[]): string {
  const total = bins.reduce((sum, bin) => sum + bin.count, 0);
  const fullest = bins.reduce<Bin | null>((best, bin) => (best === null || bin.count > best.count ? bin : best), null);
  if (!fullest) return "No samples.";
  const places = decimals(fullest.from, 3);
  return `${count(total)} samples; most lie between ${fixedText(fullest.from, places)} and ${fixedText(fullest.to, places)} ms per batch.`;
}
