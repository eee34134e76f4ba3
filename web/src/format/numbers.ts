import type { Format } from "@/api/figureColumns";

/** Numbers as people read them: three to four digits, never more than the interval supports. */

export const NOTHING = "–";
export const THIN = "\u2009";

/** Grouped by thin spaces, with a real minus. */
export function groupDigits(text: string): string {
  const [whole = "", part] = text.replace("-", "−").split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return part === undefined ? spaced : `${spaced}.${part}`;
}

/** Decimals that show `digits` significant ones. */
export function decimals(value: number, digits = 4): number {
  if (value === 0 || !Number.isFinite(value)) return 0;
  return Math.min(9, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
}

/** As many decimals as an interval of this half width supports (two digits of it), at most four digits. */
export function supportedDecimals(value: number, halfWidth: number | null): number {
  if (halfWidth === null || !(halfWidth > 0)) return decimals(value, 3);
  return Math.min(decimals(value, 4), decimals(halfWidth, 2));
}

export function fixedText(value: number, places: number): string {
  return groupDigits(value.toFixed(places));
}

export function count(value: number): string {
  return groupDigits(String(Math.round(value)));
}

export type Interval = readonly [low: number, high: number];

/** The interval of a figure, if it has one. */
export function intervalOf(figure: { low: number | null; high: number | null }): Interval | null {
  return figure.low === null || figure.high === null ? null : [figure.low, figure.high];
}
export type Quantity = { value: string; spread: string | null; unit: string };

/** A value with its interval: `±` if it is symmetric, else both ends. */
export function quantity(value: number | null | undefined, interval: Interval | null, unit: string): Quantity {
  if (value === null || value === undefined) return { value: NOTHING, spread: null, unit };
  if (interval === null) return { value: fixedText(value, decimals(value, 3)), spread: null, unit };
  const [low, high] = interval;
  const half = (high - low) / 2;
  const places = supportedDecimals(value, half);
  const isEven = Math.abs(value - (low + high) / 2) <= 0.25 * half && half <= 0.5 * Math.abs(value);
  const spread = isEven ? `±${fixedText(half, places)}` : `${fixedText(low, places)} to ${fixedText(high, places)}`;
  return { value: fixedText(value, places), spread, unit };
}

/** A figure by how its value is meant: milliseconds, bytes, a part of 1 … */
export function formatFigure(format: Format, value: number | null | undefined, interval: Interval | null, unit: string): Quantity {
  if (value === null || value === undefined) return { value: NOTHING, spread: null, unit };
  switch (format) {
    case "time":
      return quantity(value, interval, "ms");
    case "rate":
    case "amount":
      return quantity(value, interval, unit);
    case "bytes":
      return { value: bytes(value), spread: null, unit: "" };
    case "count":
      return { value: count(value), spread: null, unit };
    case "share":
      return { value: percent(value, 1), spread: null, unit: "" };
    default:
      return format satisfies never;
  }
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let scaled = value;
  let unit = 0;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count(scaled) : fixedText(scaled, decimals(scaled, 3))} ${units[unit]}`;
}

/** "3.00× (2.91–3.09)" */
export function ratio(value: number, interval: Interval | null = null): string {
  const places = interval ? supportedDecimals(value, (interval[1] - interval[0]) / 2) : decimals(value, 3);
  const text = `${fixedText(value, places)}×`;
  return interval ? `${text} (${fixedText(interval[0], places)}–${fixedText(interval[1], places)})` : text;
}

export function percent(share: number, places = 0): string {
  return `${groupDigits((share * 100).toFixed(places))} %`;
}

/** A length of time to wait for: "38 s", "2 min", "1 h 5 min". */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return NOTHING;
  if (seconds < 1) return "under a second";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest ? ` ${rest} min` : ""}`;
}

/** "about 38 s left", "under a second left". */
export function remainingText(seconds: number): string {
  return seconds < 1 ? "under a second left" : `about ${duration(seconds)} left`;
}

/** A latency that is still being measured: "0.31 ms ±4 %", "7 ms, still very uncertain". */
export function liveEstimateText(ms: number, halfWidth: number | null | undefined): string {
  const spread = halfWidth == null ? "" : halfWidth > 1 ? ", still very uncertain" : ` ±${Math.max(1, Math.round(100 * halfWidth))} %`;
  return `${fixedText(ms, decimals(ms, 3))} ms${spread}`;
}

export function plural(n: number, noun: string, many = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : many}`;
}
