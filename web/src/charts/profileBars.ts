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
  const shown = slices.slice(0, MOST_BARS);
  const unit = unitOf(shown);
  const scaled = (one: Slice, ms: number) => (isShare ? (one.ms > 0 ? (ms * one.share * 100) / one.ms : 0) : ms * unit.of);
  return ({ isDark, ink, dim, line }) => ({
    grid: { left: 8, right: 190, top: 8, bottom: 32, containLabel: true },
    media: [{ query: { maxWidth: NARROW }, option: { grid: { right: 64 }, yAxis: { axisLabel: { formatter: shortest } } } }],
    tooltip: { trigger: "item", confine: true, formatter: (given: unknown) => tip(nameOf(given), shown) },
    xAxis: axis(isShare ? "% of a call" : `${unit.name} of a call`, dim, line, ink),
    yAxis: names(
      shown.map((one) => one.name),
      ink,
      line,
    ),
    series: [
      {
        type: "bar",
        cursor: "pointer",
        data: shown.map((one) => ({ name: one.name, value: scaled(one, one.ms), itemStyle: { color: kindColor(kindOf(one.op), isDark) } })),
      },
      whiskers(
        shown.map((one) => ({
          low: scaled(one, one.interval?.[0] ?? one.ms),
          high: scaled(one, one.interval?.[1] ?? one.ms),
          text: isShare || one.unknown !== null ? shareText(one) : `${sliceText(one, unit)} · ${shareText(one)}`,
          short: isShare || one.unknown !== null ? shareText(one) : `${fixedText(one.ms * unit.of, decimals(one.ms * unit.of, 3))} ${unit.name}`,
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

/** Pairs: A as an outline, B filled; grey where the difference is not clear. */
export function drawChanges(changes: readonly Change[]): Drawing {
  const shown = changes.slice(0, MOST_BARS);
  const unit = unitOfChanges(shown);
  return ({ isDark, ink, dim, line }) => {
    const [better, worse, other] = isDark ? ["#2EC79B", "#FF8C42", "#8b96a3"] : ["#009E73", "#D55E00", "#8d97a2"];
    const labelOf =
      (isNarrow: boolean) =>
      ({ dataIndex }: { dataIndex: number }) =>
        changeLabel(shown[dataIndex], unit, isNarrow);
    const color = (one: Change) => (one.verdict === "faster" ? better : one.verdict === "slower" ? worse : other);
    return {
      grid: { left: 8, right: 190, top: 8, bottom: 32, containLabel: true },
      media: [
        {
          query: { maxWidth: NARROW },
          option: { grid: { right: 84 }, yAxis: { axisLabel: { formatter: shortest } }, series: [{ label: { formatter: labelOf(true) } }] },
        },
      ],
      legend: { top: 0, left: 0, textStyle: { color: ink }, data: [SIDES.a, SIDES.b], itemStyle: { color: other } },
      tooltip: { trigger: "item", confine: true, formatter: (given: unknown) => changeTip(nameOf(given), shown) },
      xAxis: axis(`${unit.name} of a call`, dim, line, ink),
      yAxis: names(
        shown.map((one) => one.name),
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
          data: shown.map((one) => ({ name: one.name, value: (one.a?.ms ?? 0) * unit.of })),
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
          data: shown.map((one) => ({ name: one.name, value: (one.b?.ms ?? 0) * unit.of, itemStyle: { color: color(one) } })),
        },
      ],
    };
  };
}

function changeLabel(one: Change | undefined, unit: Unit, isNarrow: boolean): string {
  if (!one) return "";
  // Where it is narrow grey says so, and the table.
  const mark = one.verdict === "faster" ? " ▼" : one.verdict === "slower" ? " ▲" : isNarrow ? "" : ` (${standingText(one)})`;
  return `${deltaText(one.deltaMs, unit)}${mark}`;
}

function axis(name: string, dim: string, line: string, ink: string) {
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

function names(data: readonly string[], ink: string, line: string) {
  return {
    type: "category",
    inverse: true,
    data,
    triggerEvent: true,
    axisLabel: { color: ink, interval: 0, formatter: (name: string) => short(name) },
    axisLine: { lineStyle: { color: line } },
    axisTick: { show: false },
  };
}

/** The end of a long name tells more than its beginning; the table has all of it. */
export function short(name: string, most = 34): string {
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
}
const shortest = (name: string) => short(name, 16);

/** What stands at the end of bars: an interval, and behind it the number. */
function whiskers(ends: readonly { low: number; high: number; text: string; short: string }[], color: string): CustomSeriesOption {
  return {
    type: "custom",
    silent: true,
    z: 4,
    data: ends.map(({ low, high }, at) => [at, low, high]),
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

function nameOf(given: unknown): string {
  return typeof given === "object" && given !== null && "name" in given && typeof given.name === "string" ? given.name : "";
}

function tip(name: string, slices: readonly Slice[]): string {
  const one = slices.find((slice) => slice.name === name);
  if (one && one.unknown !== null) return `${escaped(one.name)}<br>not known: ${escaped(one.unknown)}`;
  return one
    ? `${escaped(one.name)}<br>${sliceText(one)}, ${percent(one.share, 1)} of a call<br>${one.calls} calls${one.limit.bound ? `<br>limit: ${one.limit.bound}` : ""}`
    : "";
}

function changeTip(name: string, changes: readonly Change[]): string {
  const one = changes.find((change) => change.name === name);
  if (!one) return "";
  const side = (slice: Side | null) => (slice ? `${sliceText(slice)}, ${escaped(ranText(slice))}` : "–");
  return `${escaped(one.name)}<br>A: ${side(one.a)}<br>B: ${side(one.b)}<br>${deltaText(one.deltaMs)}, ${standingText(one)}`;
}

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
