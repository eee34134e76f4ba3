import type { CustomSeriesOption } from "echarts/charts";

import type { Drawing } from "@/charts/Drawn";
import type { LegendEntry } from "@/charts/Legend";
import type { Look } from "@/charts/palette";
import { kindColor, kindOf } from "@/charts/kinds";
import {
  deltaText,
  ranText,
  shareText,
  sliceText,
  standingText,
  unitOf,
  unitOfChanges,
  type Change,
  type Side,
  type Slice,
  type Unit,
} from "@/charts/profileRows";
import { decimals, percent, fixedText } from "@/format/numbers";

export const MOST_BARS = 30;
const NARROW = 480; // a phone: names and numbers are shortened, or no room is left for bars
const ROW = 26; // pixels of a bar with its gap

export function barsHeight(count: number, isPaired = false): number {
  return Math.max(120, Math.min(MOST_BARS, count) * (isPaired ? 36 : ROW) + 56);
}

/** Horizontal bars, the slowest on top; whiskers are the 95 % interval over repeats. */
export function drawBars(slices: readonly Slice[], isShare: boolean): Drawing {
  const visible = slices.slice(0, MOST_BARS);
  const unit = unitOf(visible);
  const barValue = (slice: Slice, ms: number) => (isShare ? (slice.ms > 0 ? (ms * slice.share * 100) / slice.ms : 0) : ms * unit.of);
  return ({ isDark, ink, dim, line }) => ({
    grid: { left: 8, right: 190, top: 8, bottom: 32, containLabel: true },
    media: [{ query: { maxWidth: NARROW }, option: { grid: { right: 64 }, yAxis: { axisLabel: { formatter: shortestName } } } }],
    tooltip: { trigger: "item", confine: true, formatter: (params: unknown) => sliceTip(clickedName(params), visible) },
    xAxis: valueAxis(isShare ? "% of a call" : `${unit.name} of a call`, dim, line, ink),
    yAxis: nameAxis(
      visible.map((slice) => slice.name),
      ink,
      line,
    ),
    series: [
      {
        type: "bar",
        cursor: "pointer",
        data: visible.map((slice) => ({ name: slice.name, value: barValue(slice, slice.ms), itemStyle: { color: kindColor(kindOf(slice.op), isDark) } })),
      },
      whiskers(
        visible.map((slice) => ({
          low: barValue(slice, slice.interval?.[0] ?? slice.ms),
          high: barValue(slice, slice.interval?.[1] ?? slice.ms),
          text: isShare || slice.unknown !== null ? shareText(slice) : `${sliceText(slice, unit)} · ${shareText(slice)}`,
          short: isShare || slice.unknown !== null ? shareText(slice) : `${fixedText(slice.ms * unit.of, decimals(slice.ms * unit.of, 3))} ${unit.name}`,
        })),
        ink,
      ),
    ],
  });
}

const SIDES = { a: "A, outline", b: "B, filled" } as const;
const GREY = (isDark: boolean): Look => ({ color: isDark ? "#a3adb8" : "#5b6470", mark: "rect", dash: "solid" });
export const CHANGES_LEGEND: readonly LegendEntry[] = [
  { name: SIDES.a, look: GREY, isHollow: true },
  { name: SIDES.b, look: GREY },
];

/** Pairs: A as an outline, B filled; grey if the difference is not clear. */
export function drawChanges(changes: readonly Change[]): Drawing {
  const visible = changes.slice(0, MOST_BARS);
  const unit = unitOfChanges(visible);
  return ({ isDark, ink, dim, line }) => {
    const [better, worse, other] = isDark ? ["#2EC79B", "#FF8C42", "#8b96a3"] : ["#009E73", "#D55E00", "#8d97a2"];
    const labelOf =
      (isNarrow: boolean) =>
      ({ dataIndex }: { dataIndex: number }) =>
        changeLabel(visible[dataIndex], unit, isNarrow);
    const color = (change: Change) => (change.verdict === "faster" ? better : change.verdict === "slower" ? worse : other);
    return {
      grid: { left: 8, right: 190, top: 8, bottom: 32, containLabel: true },
      media: [
        {
          query: { maxWidth: NARROW },
          option: { grid: { right: 84 }, yAxis: { axisLabel: { formatter: shortestName } }, series: [{ label: { formatter: labelOf(true) } }] },
        },
      ],
      legend: { top: 0, left: 0, textStyle: { color: ink }, data: [SIDES.a, SIDES.b], itemStyle: { color: other } },
      tooltip: { trigger: "item", confine: true, formatter: (params: unknown) => changeTip(clickedName(params), visible) },
      xAxis: valueAxis(`${unit.name} of a call`, dim, line, ink),
      yAxis: nameAxis(
        visible.map((change) => change.name),
        ink,
        line,
      ),
      series: [
        {
          name: SIDES.a,
          type: "bar",
          cursor: "pointer",
          barGap: "15%",
          itemStyle: { color: "transparent", borderColor: dim, borderWidth: 1.5 },
          data: visible.map((change) => ({ name: change.name, value: (change.a?.ms ?? 0) * unit.of })),
          label: {
            show: true,
            position: "right",
            distance: 8,
            color: ink,
            formatter: labelOf(false),
          },
        },
        {
          name: SIDES.b,
          type: "bar",
          cursor: "pointer",
          data: visible.map((change) => ({ name: change.name, value: (change.b?.ms ?? 0) * unit.of, itemStyle: { color: color(change) } })),
        },
      ],
    };
  };
}

function changeLabel(change: Change | undefined, unit: Unit, isNarrow: boolean): string {
  if (!change) return "";
  // On narrow screens, grey and the table say so.
  const mark = change.verdict === "faster" ? " ▼" : change.verdict === "slower" ? " ▲" : isNarrow ? "" : ` (${standingText(change)})`;
  return `${deltaText(change.deltaMs, unit)}${mark}`;
}

function valueAxis(name: string, dim: string, line: string, ink: string) {
  return {
    type: "value",
    min: 0,
    name,
    nameLocation: "middle",
    nameGap: 24,
    nameTextStyle: { color: dim },
    axisLabel: { color: ink, hideOverlap: true },
    splitLine: { lineStyle: { color: line } },
  };
}

function nameAxis(data: readonly string[], ink: string, line: string) {
  return {
    type: "category",
    inverse: true,
    data,
    triggerEvent: true,
    axisLabel: { color: ink, interval: 0, formatter: (name: string) => shortName(name) },
    axisLine: { lineStyle: { color: line } },
    axisTick: { show: false },
  };
}

/** Keeps the end of a long name, which says more than its beginning; the table has all of it. */
export function shortName(name: string, most = 34): string {
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
}
const shortestName = (name: string) => shortName(name, 16);

/** At the end of each bar: its interval, and then the number. */
function whiskers(ends: readonly { low: number; high: number; text: string; short: string }[], color: string): CustomSeriesOption {
  return {
    type: "custom",
    silent: true,
    z: 4,
    data: ends.map(({ low, high }, index) => [index, low, high]),
    encode: { y: 0, x: [1, 2] },
    renderItem: (_, api) => {
      const [left = 0, y = 0] = api.coord([api.value(1), api.value(0)]);
      const [right = 0] = api.coord([api.value(2), api.value(0)]);
      const stroke = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line" as const,
        shape: { x1, y1, x2, y2 },
        style: { stroke: color, lineWidth: 1.2 },
      });
      const lines = right > left ? [stroke(left, y, right, y), stroke(left, y - 4, left, y + 4), stroke(right, y - 4, right, y + 4)] : [];
      const end = ends[Number(api.value(0))];
      const text = (api.getWidth() <= NARROW ? end?.short : end?.text) ?? "";
      return {
        type: "group",
        children: [...lines, { type: "text" as const, style: { text, x: right + 8, y, fill: color, textVerticalAlign: "middle" as const, fontSize: 12 } }],
      };
    },
  };
}

function clickedName(params: unknown): string {
  return typeof params === "object" && params !== null && "name" in params && typeof params.name === "string" ? params.name : "";
}

function sliceTip(name: string, slices: readonly Slice[]): string {
  const slice = slices.find((slice) => slice.name === name);
  if (slice && slice.unknown !== null) return `${escapeHtml(slice.name)}<br>not known: ${escapeHtml(slice.unknown)}`;
  return slice
    ? `${escapeHtml(slice.name)}<br>${sliceText(slice)}, ${percent(slice.share, 1)} of a call<br>${slice.calls} calls${slice.limit.bound ? `<br>limit: ${slice.limit.bound}` : ""}`
    : "";
}

function changeTip(name: string, changes: readonly Change[]): string {
  const change = changes.find((change) => change.name === name);
  if (!change) return "";
  const side = (slice: Side | null) => (slice ? `${sliceText(slice)}, ${escapeHtml(ranText(slice))}` : "–");
  return `${escapeHtml(change.name)}<br>A: ${side(change.a)}<br>B: ${side(change.b)}<br>${deltaText(change.deltaMs)}, ${standingText(change)}`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
