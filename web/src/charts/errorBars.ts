import type { CustomSeriesOption } from "echarts/charts";

export type Bar = { x: number | string; low: number; high: number };

/** 95 % intervals as bars with caps, on a grid's first axes; with the name of their series, they are hidden with it. */
export function errorBars(bars: readonly Bar[], color: string, name?: string): CustomSeriesOption {
  return {
    name,
    type: "custom",
    silent: true,
    z: 4,
    data: bars.map(({ x, low, high }) => [x, low, high]),
    encode: { x: 0, y: [1, 2] },
    renderItem: (_, api) => {
      const [x = 0, top = 0] = api.coord([api.value(0), api.value(2)]);
      const bottom = api.coord([api.value(0), api.value(1)])[1] ?? 0;
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line" as const,
        shape: { x1, y1, x2, y2 },
        style: { stroke: color, lineWidth: 1.5 },
      });
      return { type: "group", children: [line(x, top, x, bottom), line(x - 5, top, x + 5, top), line(x - 5, bottom, x + 5, bottom)] };
    },
  };
}
