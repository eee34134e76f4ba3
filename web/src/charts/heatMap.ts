import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { decimals, fixedText } from "@/format/numbers";

export type Square = { cores: number; batch: number; value: number | null; low: number | null; high: number | null; sessions: number | null; isNoisy: boolean };
export type HeatMap = { metric: string; unit: string; /** More is better. */ isRate: boolean; squares: readonly Square[] };

type Known = Square & { value: number };
const knownOf = ({ squares }: HeatMap): Known[] => squares.filter((one): one is Known => one.value !== null);
const unique = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
const text = (value: number): string => fixedText(value, decimals(value, 3));

// One hue from little to much, so that it reads without colours, too. Without steps: equal numbers look equal.
const LIGHT = [
  [234, 244, 251],
  [11, 90, 140],
] as const;
const DARK = [
  [18, 41, 58],
  [159, 211, 245],
] as const;

type Tone = readonly [number, number, number];
const between = (from: Tone, to: Tone, share: number): Tone =>
  [0, 1, 2].map((at) => Math.round((from[at] ?? 0) + share * ((to[at] ?? 0) - (from[at] ?? 0)))) as unknown as Tone; // three of them

/** Black or white, whichever keeps 4.5 : 1 on it. */
export function inkOn(tone: Tone): "#000000" | "#ffffff" {
  const [red = 0, green = 0, blue = 0] = tone.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

/** 0 is the slowest, 1 the quickest, by their logarithms: cells lie orders of magnitude apart. */
export function shade(value: number, { squares, isRate }: HeatMap): number {
  const logs = squares.flatMap((one) => (one.value !== null && one.value > 0 ? [Math.log(one.value)] : []));
  const least = Math.min(...logs);
  const most = Math.max(...logs);
  if (!(most > least) || value <= 0) return 0.5;
  const share = (Math.log(value) - least) / (most - least);
  return isRate ? share : 1 - share;
}

export function heatMapHeight({ squares }: HeatMap): number {
  return 74 + 40 * unique(squares.map(({ batch }) => batch)).length;
}

/** Cores to the right, batch sizes downwards, the number in its square; hatched where it is noisy. */
export function drawHeatMap(map: HeatMap): Drawing {
  const cores = unique(map.squares.map((one) => one.cores));
  const batches = unique(map.squares.map((one) => one.batch));
  const nameOf = (one: Square) => `${one.cores} × ${one.batch}`;
  return ({ isDark, ink, dim, line, paper }) => {
    const [least, most] = isDark ? DARK : LIGHT;
    const axis = { axisTick: { show: false }, axisLabel: { color: ink, interval: 0 }, axisLine: { lineStyle: { color: line } }, nameTextStyle: { color: dim } };
    return {
      aria: { enabled: true, label: { enabled: false }, decal: { show: false } },
      grid: { left: 56, right: 16, top: 8, bottom: 48 },
      tooltip: { show: false },
      xAxis: { type: "category", data: cores.map(String), name: "cores", nameLocation: "middle", nameGap: 28, ...axis },
      yAxis: { type: "category", inverse: true, data: batches.map(String), name: "batch size", nameLocation: "middle", nameGap: 40, ...axis },
      series: [
        {
          type: "custom",
          data: map.squares.map((one) => ({ name: nameOf(one), value: [String(one.cores), String(one.batch)] })),
          renderItem: (
            params: { dataIndex: number },
            api: { coord: (at: unknown[]) => number[]; size: (of: number[]) => number[]; value: (at: number) => unknown },
          ) => {
            const one = map.squares[params.dataIndex];
            const [x = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
            const [width = 0, height = 0] = api.size([1, 1]);
            if (!one) return null;
            const tone = one.value === null ? null : between(least, most, shade(one.value, map));
            return {
              type: "group",
              children: [
                {
                  type: "rect",
                  shape: { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2, r: 4 },
                  style: {
                    fill: tone ? `rgb(${tone.join(",")})` : paper,
                    stroke: one.isNoisy ? dim : line,
                    lineWidth: one.isNoisy ? 2 : 1,
                    lineDash: one.isNoisy ? [4, 3] : undefined,
                  },
                },
                {
                  type: "text",
                  style: {
                    x,
                    y,
                    text: `${one.value === null ? "–" : text(one.value)}${one.isNoisy ? " ~" : ""}`,
                    align: "center",
                    verticalAlign: "middle",
                    fill: tone ? inkOn(tone) : ink,
                    fontSize: 12,
                  },
                },
              ],
            };
          },
        },
      ],
    };
  };
}

/** Which square was clicked: the name that `drawHeatMap` gave it. */
export function squareOf(name: string): { cores: number; batch: number } | null {
  const [cores, batch] = name.split(" × ").map(Number);
  return cores && batch ? { cores, batch } : null;
}

export function heatMapTable(map: HeatMap): ChartTable {
  return {
    columns: ["cores", "batch size", map.metric, "95 % low, this run", "95 % high, this run", "sessions", "quality"],
    rows: map.squares.map((one) => [one.cores, one.batch, one.value, one.low, one.high, one.sessions, one.isNoisy ? "noisy" : ""]),
  };
}

/** From the least to the most; not which is best: that is for who looks at intervals. */
export function heatMapSummary(map: HeatMap): string {
  const known = knownOf(map).sort((a, b) => a.value - b.value);
  const [least] = known;
  const most = known[known.length - 1];
  if (!least || !most) return "Nothing measured yet.";
  const at = (one: Known) => `${text(one.value)} ${map.unit} at ${one.cores} ${one.cores === 1 ? "core" : "cores"}, batch ${one.batch}`;
  return least === most ? `${at(least)}.` : `From ${at(least)} to ${at(most)}.`;
}
