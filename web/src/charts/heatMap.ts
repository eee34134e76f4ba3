import type { ChartTable } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { decimals, fixedText } from "@/format/numbers";

export type Square = { cores: number; batch: number; value: number | null; low: number | null; high: number | null; sessions: number | null; isNoisy: boolean };
export type HeatMap = { metric: string; unit: string; /** More is better. */ isRate: boolean; squares: readonly Square[] };

type MeasuredSquare = Square & { value: number };
const measuredSquares = ({ squares }: HeatMap): MeasuredSquare[] => squares.filter((square): square is MeasuredSquare => square.value !== null);
const unique = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
const text = (value: number): string => fixedText(value, decimals(value, 3));

// One hue from light to dark, so that it also reads without colour, and without steps, so that equal numbers look equal.
const LIGHT = [
  [234, 244, 251],
  [11, 90, 140],
] as const;
const DARK = [
  [18, 41, 58],
  [159, 211, 245],
] as const;

type Tone = readonly [number, number, number];
const mixTones = (from: Tone, to: Tone, share: number): Tone =>
  [0, 1, 2].map((channel) => Math.round((from[channel] ?? 0) + share * ((to[channel] ?? 0) - (from[channel] ?? 0)))) as unknown as Tone; // three of them

/** Black or white, whichever keeps 4.5 : 1 on it. */
export function textColorOn(tone: Tone): "#000000" | "#ffffff" {
  const [red = 0, green = 0, blue = 0] = tone.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

/** 0 is the slowest, 1 the quickest, by their logarithms: cells lie orders of magnitude apart. */
export function shade(value: number, { squares, isRate }: HeatMap): number {
  const logs = squares.flatMap((square) => (square.value !== null && square.value > 0 ? [Math.log(square.value)] : []));
  const least = Math.min(...logs);
  const most = Math.max(...logs);
  if (!(most > least) || value <= 0) return 0.5;
  const share = (Math.log(value) - least) / (most - least);
  return isRate ? share : 1 - share;
}

export function heatMapHeight({ squares }: HeatMap): number {
  return 74 + 40 * unique(squares.map(({ batch }) => batch)).length;
}

/** Cores to the right, batch sizes downwards, the number in its square; dashed if it is noisy. */
export function drawHeatMap(map: HeatMap): Drawing {
  const cores = unique(map.squares.map((square) => square.cores));
  const batches = unique(map.squares.map((square) => square.batch));
  const squareName = (square: Square) => `${square.cores} × ${square.batch}`;
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
          data: map.squares.map((square) => ({ name: squareName(square), value: [String(square.cores), String(square.batch)] })),
          renderItem: (
            params: { dataIndex: number },
            api: { coord: (point: unknown[]) => number[]; size: (size: number[]) => number[]; value: (point: number) => unknown },
          ) => {
            const square = map.squares[params.dataIndex];
            const [x = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
            const [width = 0, height = 0] = api.size([1, 1]);
            if (!square) return null;
            const tone = square.value === null ? null : mixTones(least, most, shade(square.value, map));
            return {
              type: "group",
              children: [
                {
                  type: "rect",
                  shape: { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2, r: 4 },
                  style: {
                    fill: tone ? `rgb(${tone.join(",")})` : paper,
                    stroke: square.isNoisy ? dim : line,
                    lineWidth: square.isNoisy ? 2 : 1,
                    lineDash: square.isNoisy ? [4, 3] : undefined,
                  },
                },
                {
                  type: "text",
                  style: {
                    x,
                    y,
                    text: `${square.value === null ? "–" : text(square.value)}${square.isNoisy ? " ~" : ""}`,
                    align: "center",
                    verticalAlign: "middle",
                    fill: tone ? textColorOn(tone) : ink,
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
    rows: map.squares.map((square) => [square.cores, square.batch, square.value, square.low, square.high, square.sessions, square.isNoisy ? "noisy" : ""]),
  };
}

/** From the least to the most; it ranks nothing, since that needs the intervals. */
export function heatMapSummary(map: HeatMap): string {
  const measured = measuredSquares(map).sort((a, b) => a.value - b.value);
  const [least] = measured;
  const most = measured[measured.length - 1];
  if (!least || !most) return "Nothing measured yet.";
  const describe = (square: MeasuredSquare) =>
    `${text(square.value)} ${map.unit} at ${square.cores} ${square.cores === 1 ? "core" : "cores"}, batch ${square.batch}`;
  return least === most ? `${describe(least)}.` : `From ${describe(least)} to ${describe(most)}.`;
}
