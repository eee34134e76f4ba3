import { METRIC_NAMES } from "@/api/figures";
import { BENCHMARK_TABS } from "@/features/benchmarks/results/view";
import type { Chosen } from "@/features/compare/search";

/** The search parameters of addresses. Invalid ones are left out, so an old link still opens. */

type Raw = Record<string, unknown>;

/** Plain words, as people type them: `?a=12&diff=true`, nothing in quotes. Each page below checks its own. */
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

const parseText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
const parseWhole = (value: unknown): number | undefined => {
  const number = Number(value);
  return value !== "" && value !== null && value !== undefined && Number.isInteger(number) && number > 0 ? number : undefined;
};
const parsePositive = (value: unknown): number | undefined => {
  const number = Number(value);
  return value !== "" && value != null && Number.isFinite(number) && number > 0 ? number : undefined;
};
const parseFlag = (value: unknown): boolean | undefined =>
  value === true || value === 1 || value === "1" || value === "true"
    ? true
    : value === false || value === 0 || value === "0" || value === "false"
      ? false
      : undefined;
function parseOneOf<T extends string>(value: unknown, options: readonly T[]): T | undefined {
  return options.find((option) => option === value);
}

/** Each may be missing. */
const optional = <T extends object>(values: T): Partial<T> => values;

export const home = (raw: Raw) => optional({ text: parseText(raw.text) });
export const newProject = (raw: Raw) => optional({ model: parseWhole(raw.model), project: parseWhole(raw.project) });
export const models = (raw: Raw) => optional({ sort: parseText(raw.sort) });
export const graph = (raw: Raw) =>
  optional({
    expand: parseText(raw.expand),
    node: parseText(raw.node),
    color: parseOneOf(raw.color, ["type", "time"] as const),
    profile: parseWhole(raw.profile),
    q: parseText(raw.q),
    view: parseOneOf(raw.view, ["graph", "table"] as const),
  });
export const benchmarks = (raw: Raw) =>
  optional({
    layout: parseOneOf(raw.layout, ["cards", "table"] as const),
    sel: parseText(raw.sel),
    text: parseText(raw.text),
    sort: parseText(raw.sort),
    add: parseFlag(raw.add), // the dialog is open
    from: parseWhole(raw.from), // … filled in from this benchmark
  });
export const benchmark = (raw: Raw) =>
  optional({
    tab: parseOneOf(raw.tab, BENCHMARK_TABS),
    cores: parseWhole(raw.cores),
    batch: parseWhole(raw.batch),
    engine: parseText(raw.engine),
    metric: parseOneOf(raw.metric, METRIC_NAMES),
  });
export const compare = (raw: Raw): Chosen => ({
  a: parseText(raw.a),
  b: parseText(raw.b),
  more: parseText(raw.more),
  comparison: parseWhole(raw.comparison),
  metric: parseOneOf(raw.metric, METRIC_NAMES),
  diff: parseFlag(raw.diff),
  limit: parsePositive(raw.limit),
  tab: parseText(raw.tab),
});
export const profiles = (raw: Raw) => optional({ add: parseFlag(raw.add) }); // the dialog is open
export const profile = (raw: Raw) =>
  optional({
    view: parseOneOf(raw.view, ["bars", "treemap", "table"] as const),
    by: parseOneOf(raw.by, ["operator", "node"] as const),
    diff: parseWhole(raw.diff),
    share: parseFlag(raw.share),
  });
