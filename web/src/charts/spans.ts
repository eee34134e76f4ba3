import type { CustomSeriesOption } from "echarts/charts";

/** `lower` is how many pixels below the middle of its row it lies. */
export type Span = {
  row: string;
  low: number;
  high: number;
  color: string;
  lower?: number;
  /** It goes on beyond the end that is drawn: an arrow instead of a cap. */
  isCut?: { low: boolean; high: boolean };
};

/** 95 % intervals as horizontal bars with caps; with the name of their series, they are hidden with it. */
export function spanSeries(bars: readonly Span[], name?: string): CustomSeriesOption {
  return {
    name,
    type: "custom",
    silent: true,
    z: 4,
    data: bars.map(({ row, low, high }) => [low, high, row]),
    encode: { x: [0, 1], y: 2 },
    renderItem: (params, api) => {
      const [left = 0, middle = 0] = api.coord([api.value(0), api.value(2)]);
      const y = middle + (bars[params.dataIndex]?.lower ?? 0);
      const right = api.coord([api.value(1), api.value(2)])[0] ?? 0;
      const style = { stroke: bars[params.dataIndex]?.color ?? "#888", lineWidth: 1.5 };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({ type: "line" as const, shape: { x1, y1, x2, y2 }, style });
      const end = (x: number, inward: number, isCut: boolean | undefined) =>
        isCut ? [line(x, y, x + inward, y - 4), line(x, y, x + inward, y + 4)] : [line(x, y - 4, x, y + 4)];
      const isCut = bars[params.dataIndex]?.isCut;
      return { type: "group", children: [line(left, y, right, y), ...end(left, 6, isCut?.low), ...end(right, -6, isCut?.high)] };
    },
  };
}
