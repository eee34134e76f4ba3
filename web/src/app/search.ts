import { METRIC_NAMES } from "@/api/figures";
import { BENCHMARK_TABS } from "@/features/benchmarks/results/view";
import type { Chosen } from "@/features/compare/search";

/** What stands in addresses. Whatever does not fit is left out, so an old link still opens. */

type Raw = Record<string, unknown>;

/** Plain words, as people type them: `?a=12&diff=true`, nothing in quotes. What they mean, each page below says. */
export function parseSearch(search: string): Raw {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Raw): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") words.set(name, String(value));
  }
  const text = words.toString().replaceAll("%2C", ",");
  return text === "" ? "" : `?${text}`;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
const whole = (value: unknown): number | undefined => {
  const found = Number(value);
  return value !== "" && value !== null && value !== undefined && Number.isInteger(found) && found > 0 ? found : undefined;
};
const positive = (value: unknown): number | undefined => {
  const found = Number(value);
  return value !== "" && value != null && Number.isFinite(found) && found > 0 ? found : undefined;
};
const flag = (value: unknown): boolean | undefined =>
  value === true || value === 1 || value === "1" || value === "true"
    ? true
    : value === false || value === 0 || value === "0" || value === "false"
      ? false
      : undefined;
function one<T extends string>(value: unknown, among: readonly T[]): T | undefined {
  return among.find((each) => each === value);
}

/** Each may be missing. */
const partly = <T extends object>(found: T): Partial<T> => found;

export const home = (raw: Raw) => partly({ text: text(raw.text) });
export const fresh = (raw: Raw) => partly({ model: whole(raw.model), project: whole(raw.project) });
export const models = (raw: Raw) => partly({ sort: text(raw.sort) });
export const graph = (raw: Raw) =>
  partly({
    expand: text(raw.expand),
    node: text(raw.node),
    color: one(raw.color, ["type", "time"] as const),
    profile: whole(raw.profile),
    q: text(raw.q),
    view: one(raw.view, ["graph", "table"] as const),
  });
export const benchmarks = (raw: Raw) =>
  partly({
    layout: one(raw.layout, ["cards", "table"] as const),
    sel: text(raw.sel),
    text: text(raw.text),
    sort: text(raw.sort),
    add: flag(raw.add), // the dialog is open
    from: whole(raw.from), // … filled in from this benchmark
  });
export const benchmark = (raw: Raw) =>
  partly({
    tab: one(raw.tab, BENCHMARK_TABS),
    cores: whole(raw.cores),
    batch: whole(raw.batch),
    engine: text(raw.engine),
    metric: one(raw.metric, METRIC_NAMES),
  });
export const compare = (raw: Raw): Chosen => ({
  a: text(raw.a),
  b: text(raw.b),
  more: text(raw.more),
  comparison: whole(raw.comparison),
  metric: one(raw.metric, METRIC_NAMES),
  diff: flag(raw.diff),
  limit: positive(raw.limit),
  tab: text(raw.tab),
});
export const profiles = (raw: Raw) => partly({ add: flag(raw.add) }); // the dialog is open
export const profile = (raw: Raw) =>
  partly({
    view: one(raw.view, ["bars", "treemap", "table"] as const),
    by: one(raw.by, ["operator", "node"] as const),
    diff: whole(raw.diff),
    share: flag(raw.share),
  });
