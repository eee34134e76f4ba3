import type { CustomSeriesOption } from "echarts/charts";

export type Span = { y: number; low: number; high: number; color: string };

/** 95 % intervals as lying bars with caps. */
export function spans(bars: readonly Span[]): CustomSeriesOption {
  return {
    type: "custom",
    silent: true,
    z: 4,
    data: bars.map(({ y, low, high }) => [low, high, y]),
    encode: { x: [0, 1], y: 2 },
    renderItem: (at, api) => {
      const [left = 0, y = 0] = api.coord([api.value(0), api.value(2)]);
      const right = api.coord([api.value(1), api.value(2)])[0] ?? 0;
      const style = { stroke: bars[at.dataIndex]?.color ?? "#888", lineWidth: 1.5 };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({ type: "line" as const, shape: { x1, y1, x2, y2 }, style });
      return { type: "group", children: [line(left, y, right, y), line(left, y - 4, left, y + 4), line(right, y - 4, right, y + 4)] };
    },
  };
}
