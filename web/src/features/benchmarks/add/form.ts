import {
  COUNT_AXES,
  NAMED_COUNTS,
  SIZE_AXES,
  byField,
  bySideName,
  countWords,
  isOfSides,
  type CountAxis,
  type CountField,
  type SideCountName,
  type Sizes,
} from "@/api/axes";
import type { EngineDocument, PlanBenchmarkRequest } from "@/api/parts";
import type { BenchmarkDetailsDocument, ModelSummary } from "@/api/schema.gen";
import { formatName, isForPeople } from "@/format/words";

/** Of each axis, the numbers that are measured. */
export type Counts = Record<CountField, number[]>;

/** What the dialog holds, also while it is closed. */
export type Draft = {
  engine: string;
  modelId: number | null;
  device: string;
  compares: boolean;
  otherEngine: string;
  otherModelId: number | null;
  existing: number | null;
  counts: Counts;
  /** Which of them are entered as several. */
  many: Record<CountField, boolean>;
  /** Of open dimensions, the sizes that are measured; none: what the model suggests. */
  sizes: Record<string, number[]>;
  budget: "quick" | "default" | "thorough";
  warmup: number | null;
  iterations: number | null;
  timeoutS: number;
  perCall: boolean;
};

export type Field = CountField | "sizes" | "engine" | "model" | "otherEngine" | "otherModel" | "device" | "budget";
export type Troubles = Partial<Record<Field, string>>;

/** Numbers as somebody pastes them: "1, 8,32" or "1 8 32". */
export function countsIn(text: string, most: number, what: string): { counts: number[]; trouble: string | null } {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  const counts: number[] = [];
  for (const word of words) {
    const trouble = troubleOf(word, most, what);
    if (trouble) return { counts, trouble };
    counts.push(Number(word));
  }
  return { counts, trouble: null };
}

/** The words that are valid numbers, and why the others are not. */
export function chipsIn(words: readonly string[], most: number, what: string): { accepted: number[]; troubles: string[] } {
  const checked = words.map((word) => ({ word, trouble: troubleOf(word, most, what) }));
  return {
    accepted: checked.flatMap(({ word, trouble }) => (trouble === null ? [Number(word)] : [])),
    troubles: checked.flatMap(({ trouble }) => trouble ?? []),
  };
}

export function troubleOf(word: string, most: number, what: string): string | null {
  if (!/^[-−+]?\d+$/.test(word)) return `“${word}” is not a whole number.`;
  const value = Number(word.replace("−", "-"));
  if (value < 1) return `${word} is too few: ${what} start at 1.`;
  if (value > most)
    return what === "core counts"
      ? `${word} is more than the ${most} ${most === 1 ? "core" : "cores"} of this machine.`
      : `${word} is too many: at most ${most}.`;
  return null;
}

export function mergeCounts(counts: readonly number[], more: readonly number[]): number[] {
  return [...new Set([...counts, ...more])].sort((a, b) => a - b);
}

export function powersOfTwo(most: number): number[] {
  const powers: number[] = [];
  for (let power = 1; power <= most; power *= 2) powers.push(power);
  return powers;
}

/** Why an engine cannot run this model here; null when it can. */
export function engineTrouble(engine: EngineDocument, model: Pick<ModelSummary, "format"> | undefined): string | null {
  if (!engine.usable) return `${engine.why_not ?? "It cannot be used here"}. To get it: ${engine.install}`;
  if (model?.format && !engine.formats.includes(model.format)) {
    return `It does not read ${formatName(model.format)} files; it reads ${engine.formats.map(formatName).join(", ")}`;
  }
  return null;
}

/** Why a model cannot be measured by an engine; null when it can. */
export function modelTrouble(model: ModelSummary, engine: EngineDocument | undefined): string | null {
  if (model.state === "untrusted") return "It can run code and is not trusted yet: see its page";
  if (model.state === "incomplete") return "Its weights files are missing: see its page";
  if (model.state === "unread") return "It has not been inspected yet: see its page";
  if (engine && model.format && !engine.formats.includes(model.format)) return `${engine.title} does not read ${formatName(model.format)} files`;
  return null;
}

/** The only batch size that a model takes, if it is fixed. */
export function fixedBatch(shapes: readonly (readonly (string | number | null)[])[]): number | null {
  const sizes = shapes.map((shape) => shape[0]);
  const first = sizes[0];
  return typeof first === "number" && sizes.every((size) => size === first) ? first : null;
}

/** Dimensions of inputs that a model leaves open, less the batch, which has a field of its own. */
export function openDimensions(inputs: readonly { name: string; shape: readonly (string | number | null)[] | null }[]): string[] {
  const batch = new Set(inputs.flatMap(({ shape }) => (typeof shape?.[0] === "string" ? [shape[0]] : [])));
  const names = inputs.flatMap(({ name, shape }) =>
    (shape ?? []).flatMap((size, index) => (typeof size === "number" || index === 0 ? [] : [size ?? `${name}.${index}`])),
  );
  // "past + 1" follows from another one.
  return [...new Set(names)].filter((name) => !batch.has(name) && name !== "batch" && !/[\s+*/-]/.test(name));
}

/** What the project began with: the oldest that no optimization made. Lists have the newest first. */
export function inputModel(models: readonly ModelSummary[]): ModelSummary | undefined {
  return models.findLast((model) => model.origin !== "optimization") ?? models[models.length - 1];
}

export function firstDraft(engines: readonly EngineDocument[], models: readonly ModelSummary[], cores: number, lastEngine: string | null): Draft {
  const model = inputModel(models.filter((model) => model.state === "ready")) ?? inputModel(models);
  const offered = engines.filter((engine) => engineTrouble(engine, model) === null && isForPeople(engine));
  const usable = engines.filter((engine) => engineTrouble(engine, model) === null);
  const engine = usable.find((engine) => engine.name === lastEngine) ?? offered[0] ?? usable[0];
  const other = offered.find((candidate) => candidate.name !== engine?.name) ?? engine;
  return {
    engine: engine?.name ?? "",
    modelId: model?.id ?? null,
    device: "cpu",
    compares: false,
    otherEngine: other?.name ?? "",
    otherModelId: model?.id ?? null,
    existing: null,
    counts: { ...byField(({ usual }) => [usual]), cores: cores > 1 ? [1, cores] : [1] },
    many: { ...byField(() => false), cores: cores > 1 },
    sizes: {},
    budget: "default",
    warmup: null,
    iterations: null,
    timeoutS: 600,
    perCall: false,
  };
}

/** "Duplicate and edit". */
export function draftOf(benchmark: BenchmarkDetailsDocument, base: Draft): Draft {
  const settings = benchmark.settings;
  const engine = benchmark.axes.engines[0] ?? settings.engines[0] ?? base.engine;
  const budget = settings.budget === "quick" || settings.budget === "thorough" ? settings.budget : "default";
  return {
    ...base,
    engine,
    modelId: benchmark.model_id,
    device: settings.devices[0] ?? "cpu",
    counts: byField(({ field, place, usual }) => (place === "single" ? [settings[field][0] ?? usual] : mergeCounts(settings[field], []))),
    many: byField(({ field, place }) => place !== "single" && settings[field].length > 1),
    sizes: Object.fromEntries(Object.entries<number | number[]>(settings.dims).map(([name, sizes]) => [name, [sizes].flat()])),
    budget,
    warmup: settings.warmup,
    iterations: settings.iterations,
    timeoutS: settings.timeout_s,
    perCall: settings.per_call,
  };
}

/** A draft reduced to what its model and its engines can do. */
export type Effective = Draft & { otherCounts: Counts };

type CapableEngine = Pick<EngineDocument, "name" | NonNullable<CountAxis["capability"]>>;

/** Whether an engine takes other values than the usual one. */
export function hasCapability(engine: CapableEngine | undefined, { capability }: CountAxis): boolean {
  return capability === null || engine?.[capability] === true;
}

/** `dimensions` are those that the model leaves open, null before it is known. */
export function effectiveOf(draft: Draft, fixed: number | null, engines: readonly CapableEngine[], dimensions: readonly string[] | null = null): Effective {
  const counts = fixed === null ? draft.counts : { ...draft.counts, batch_sizes: [fixed] };
  const many = fixed === null ? draft.many : { ...draft.many, batch_sizes: false };
  const countsOf = (name: string) => {
    const engine = engines.find((engine) => engine.name === name);
    return byField((axis) => (hasCapability(engine, axis) ? counts[axis.field] : [axis.usual]));
  };
  const sizes = Object.fromEntries(Object.entries(draft.sizes).filter(([name]) => dimensions === null || name === "batch" || dimensions.includes(name)));
  return { ...draft, many, sizes, counts: countsOf(draft.engine), otherCounts: countsOf(draft.otherEngine) };
}

/** An empty axis has no cells. */
export function isFilled({ counts, otherCounts, compares, existing }: Effective): boolean {
  const sides = compares && existing === null ? [counts, otherCounts] : [counts];
  return sides.every((side) => COUNT_AXES.every(({ field }) => side[field].length > 0));
}

/** What is measured in alternation: each cell of one side, with its counterpart on the other. */
export type Turn = { a: Record<SideCountName, number>; b: Record<SideCountName, number>; sizes: Sizes };

export function turnsOf({ counts, otherCounts, sizes }: Effective): Turn[] {
  const usual = bySideName((axis) => axis.usual);
  return NAMED_COUNTS.filter(isOfSides).reduce<Turn[]>(
    (turns, axis) =>
      turns.flatMap(({ a, b, ...rest }) =>
        pairsOf(counts[axis.field], otherCounts[axis.field], axis.usual).map(([countA, countB]) => ({
          ...rest,
          a: { ...a, [axis.name]: countA },
          b: { ...b, [axis.name]: countB },
        })),
      ),
    combineSizes(sizes).map((sizeList) => ({ a: usual, b: usual, sizes: sizeList })),
  );
}

/** Each combination of sizes. */
function combineSizes(sizes: Draft["sizes"]): Sizes[] {
  return chosenSizes(sizes).reduce<Sizes[]>((all, [name, sizeList]) => all.flatMap((before) => sizeList.map((size) => ({ ...before, [name]: size }))), [{}]);
}

function chosenSizes(sizes: Draft["sizes"]): [name: string, sizes: number[]][] {
  return Object.entries(sizes).filter(([, sizeList]) => sizeList.length > 0);
}

/** A side with only the usual value is paired with each value of the other. */
function pairsOf(countsA: readonly number[], countsB: readonly number[], usual: number): [here: number, there: number][] {
  const all = mergeCounts(countsA.length < countsB.length ? countsB : countsA, []);
  return all.map((count) => [countsA.includes(count) ? count : usual, countsB.includes(count) ? count : usual]);
}

/** On a CPU, some need as many cores as their number; null when all have them. */
export function coresNote(axis: CountAxis, { counts, device }: Draft): string | null {
  const most = Math.max(...counts[axis.field]);
  if (!axis.needs_core_each || device !== "cpu" || most <= Math.min(...counts.cores)) return null;
  return `${countWords(axis, most)} need ${most} cores: cells with fewer will fail.`;
}

export function requestOf(draft: Draft, modelId: number, engine: string, counts: Counts): PlanBenchmarkRequest {
  return {
    model_id: modelId,
    engines: engine ? [engine] : [],
    ...counts,
    devices: [draft.device],
    precisions: [],
    spinning: null,
    contract: "api",
    options: {},
    sandbox: "on",
    budget: draft.budget,
    iterations: draft.iterations,
    warmup: draft.warmup,
    per_call: draft.perCall,
    timeout_s: draft.timeoutS,
    memory_limit_bytes: null,
    seed: 0,
    dims: {},
    values: {},
    inputs: [],
    ...Object.fromEntries(SIZE_AXES.map(({ field }) => [field, Object.fromEntries(chosenSizes(draft.sizes))])),
  };
}

/** A refusal about what only some engines have may also mention cores. */
const REFUSED_COUNTS = [...NAMED_COUNTS].sort((a, b) => Number(a.capability === null) - Number(b.capability === null));

/** Which field a refusal of the server is about; refusals name options or JSON fields. */
export function fieldOf(title: string, why: string): Field | null {
  const text = `${title} ${why}`.toLowerCase();
  const rules: readonly [RegExp, Field][] = [
    ...REFUSED_COUNTS.map((axis): [RegExp, Field] => [new RegExp(axis.noun || axis.short), axis.field]),
    [/dimension|sizes/, "sizes"],
    [/device|cuda/, "device"],
    [/engine|read/, "engine"],
    [/budget|iterations|warmup|timeout/, "budget"],
    [/model/, "model"],
  ];
  return rules.find(([words]) => words.test(text))?.[1] ?? null;
}

/** "2 core counts × 3 batch sizes × 2 sides = 12 cells". */
export function planWords(draft: Effective, cells: number): string {
  const countedNoun = (counts: readonly number[], noun: string) => `${counts.length} ${counts.length === 1 ? noun : `${noun}s`}`;
  const several = chosenSizes(draft.sizes).filter(([, sizeList]) => sizeList.length > 1);
  const side = (counts: Counts) =>
    [
      ...NAMED_COUNTS.filter(({ field, is_always_named }) => is_always_named || counts[field].length > 1).map(({ field, variety }) =>
        countedNoun(counts[field], variety),
      ),
      ...several.map(([name, sizeList]) => `${sizeList.length} sizes of ${name}`),
    ].join(" × ");
  const [a, b] = [side(draft.counts), side(draft.otherCounts)];
  const sides = !draft.compares || draft.existing !== null ? a : a === b ? `${a} × 2 sides` : `${a} + ${b}`;
  return `${sides} = ${cells} ${cells === 1 ? "cell" : "cells"}`;
}

/** The commands of the alternating measurement: one for each cell. */
export function compareCommands(draft: Effective, a: string, b: string): string[] {
  const side = (name: string, engine: string, counts: Turn["a"]) => {
    const chosen = COUNT_AXES.filter(isOfSides).filter((axis) => counts[axis.name] !== axis.usual);
    const settings = [
      engine && `engine=${engine}`,
      ...chosen.map((axis) => `${axis.short}=${counts[axis.name]}`),
      draft.device !== "cpu" && `device=${draft.device}`,
    ].filter(Boolean);
    const text = settings.length > 0 ? `${name}@${settings.join(",")}` : name;
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
  };
  const budget = draft.budget === "default" ? "" : ` --${draft.budget}`;
  const dims = (sizes: Sizes) =>
    Object.entries(sizes)
      .map(([name, size]) => ` --dim ${name}=${size}`)
      .join("");
  return turnsOf(draft).map((turn) => `modeldyno compare ${side(a, draft.engine, turn.a)} ${side(b, draft.otherEngine, turn.b)}${dims(turn.sizes)}${budget}`);
}

/** "2 benchmarks and 4 comparisons are in the queue". */
export function queuedWords(id: number, comparisons: number, hasOther: boolean): string {
  if (!hasOther) return `Benchmark ${id} is in the queue`;
  return `2 benchmarks and ${comparisons} ${comparisons === 1 ? "comparison" : "comparisons"} are in the queue`;
}

/** False for drafts of an earlier version, or without a newer axis. */
export function isDraft(value: unknown): value is Draft {
  return isObject(value) && "engine" in value && "timeoutS" in value && isObject(value.many) && isObject(value.sizes) && hasCounts(value.counts);
}

function hasCounts(counts: unknown): boolean {
  return isObject(counts) && COUNT_AXES.every(({ field }) => Array.isArray(counts[field]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
