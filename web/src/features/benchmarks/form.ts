import type { BenchmarkTold, EngineDocument, ModelTold, PlanBenchmarkRequest } from "@/api/schema.gen";
import { engineName, formatName, isForPeople } from "@/format/words";

/** What the dialog holds, also while it is closed. */
export type Draft = {
  engine: string;
  modelId: number | null;
  device: string;
  compares: boolean;
  otherEngine: string;
  otherModelId: number | null;
  existing: number | null;
  cores: number[];
  manyCores: boolean;
  batches: number[];
  manyBatches: boolean;
  /** Of engines that have them. */
  streams: number[];
  manyStreams: boolean;
  budget: "quick" | "default" | "thorough";
  instances: number;
  warmup: number | null;
  iterations: number | null;
  timeoutS: number;
  perCall: boolean;
};

export type Field = "engine" | "model" | "otherEngine" | "otherModel" | "cores" | "batches" | "streams" | "instances" | "device" | "budget";
export type Troubles = Partial<Record<Field, string>>;

export const MOST_BATCH = 1_000_000;
export const MOST_STREAMS = 1024;

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

/** What of several words is a number that can be, and why the others cannot. */
export function chipsIn(words: readonly string[], most: number, what: string): { kept: number[]; troubles: string[] } {
  const told = words.map((word) => ({ word, trouble: troubleOf(word, most, what) }));
  return { kept: told.flatMap(({ word, trouble }) => (trouble === null ? [Number(word)] : [])), troubles: told.flatMap(({ trouble }) => trouble ?? []) };
}

export function troubleOf(word: string, most: number, what: string): string | null {
  if (!/^[-−+]?\d+$/.test(word)) return `“${word}” is not a whole number.`;
  const value = Number(word.replace("−", "-"));
  if (value < 1) return `${word} is too few: ${what} start at 1.`;
  if (value > most) return what === "core counts" ? `${word} is more than the ${most} ${most === 1 ? "core" : "cores"} of this machine.` : `${word} is too many: at most ${most}.`;
  return null;
}

export function merged(counts: readonly number[], more: readonly number[]): number[] {
  return [...new Set([...counts, ...more])].sort((a, b) => a - b);
}

export function powersOfTwo(most: number): number[] {
  const found: number[] = [];
  for (let one = 1; one <= most; one *= 2) found.push(one);
  return found;
}

/** Why an engine cannot run this model here; null when it can. */
export function engineTrouble(engine: EngineDocument, model: Pick<ModelTold, "format"> | undefined): string | null {
  if (!engine.usable) return `${engine.why_not ?? "It cannot be used here"}. To get it: ${engine.install}`;
  if (model?.format && !engine.formats.includes(model.format)) {
    return `It does not read ${formatName(model.format)} files; it reads ${engine.formats.map(formatName).join(", ")}`;
  }
  return null;
}

/** Why a model cannot be measured by an engine; null when it can. */
export function modelTrouble(model: ModelTold, engine: EngineDocument | undefined): string | null {
  if (model.state === "untrusted") return "It could run code, and nobody vouched for it yet: see its page";
  if (model.state === "incomplete") return "It lacks weights files: see its page";
  if (model.state === "unread") return "It was never looked into: see its page";
  if (engine && model.format && !engine.formats.includes(model.format)) return `${engineName(engine.name)} does not read ${formatName(model.format)} files`;
  return null;
}

/** The only batch size that a model takes, where it has one. */
export function fixedBatch(shapes: readonly (readonly (string | number | null)[])[]): number | null {
  const sizes = shapes.map((shape) => shape[0]);
  const first = sizes[0];
  return typeof first === "number" && sizes.every((size) => size === first) ? first : null;
}

/** What the project began with: the oldest that no optimization made. Lists have the newest first. */
export function inputModel(models: readonly ModelTold[]): ModelTold | undefined {
  return models.findLast((one) => one.origin !== "optimization") ?? models[models.length - 1];
}

export function firstDraft(engines: readonly EngineDocument[], models: readonly ModelTold[], cores: number, lastEngine: string | null): Draft {
  const model = inputModel(models.filter((one) => one.state === "ready")) ?? inputModel(models);
  const able = engines.filter((one) => engineTrouble(one, model) === null && isForPeople(one));
  const any = engines.filter((one) => engineTrouble(one, model) === null);
  const engine = any.find((one) => one.name === lastEngine) ?? able[0] ?? any[0];
  const other = able.find((one) => one.name !== engine?.name) ?? engine;
  return {
    engine: engine?.name ?? "",
    modelId: model?.id ?? null,
    device: "cpu",
    compares: false,
    otherEngine: other?.name ?? "",
    otherModelId: model?.id ?? null,
    existing: null,
    cores: cores > 1 ? [1, cores] : [1],
    manyCores: cores > 1,
    batches: [1],
    manyBatches: false,
    streams: [1],
    manyStreams: false,
    budget: "default",
    instances: 1,
    warmup: null,
    iterations: null,
    timeoutS: 600,
    perCall: false,
  };
}

/** "Duplicate and edit". */
export function draftOf(benchmark: BenchmarkTold, base: Draft): Draft {
  const asked = benchmark.settings;
  const engine = benchmark.axes.engines[0] ?? asked.engines[0] ?? base.engine;
  const budget = asked.budget === "quick" || asked.budget === "thorough" ? asked.budget : "default";
  return {
    ...base,
    engine,
    modelId: benchmark.model_id,
    device: asked.devices[0] ?? "cpu",
    cores: merged(asked.cores, []),
    manyCores: asked.cores.length > 1,
    batches: merged(asked.batch_sizes, []),
    manyBatches: asked.batch_sizes.length > 1,
    streams: merged(asked.streams, []),
    manyStreams: asked.streams.length > 1,
    budget,
    instances: asked.instances[0] ?? 1,
    warmup: asked.warmup,
    iterations: asked.iterations,
    timeoutS: asked.timeout_s,
    perCall: asked.per_call,
  };
}

/** A draft with no more in it than its model and its engines can do. */
export type Effective = Draft & { otherStreams: number[] };

export function effectiveOf(draft: Draft, fixed: number | null, engines: readonly Pick<EngineDocument, "name" | "has_streams">[]): Effective {
  const streams = (engine: string) => (engines.find((one) => one.name === engine)?.has_streams ? draft.streams : [1]);
  const batches = fixed === null ? {} : { batches: [fixed], manyBatches: false };
  return { ...draft, ...batches, streams: streams(draft.engine), otherStreams: streams(draft.otherEngine) };
}

/** What is measured in alternation: each cell of one side, with its like of the other. */
export function turnsOf({ cores, batches, streams, otherStreams }: Effective): { cores: number; batch: number; streams: number; otherStreams: number }[] {
  // A side without streams is held against each number of the other's.
  const pairs = merged(streams.length < otherStreams.length ? otherStreams : streams, []).map((one) => ({ streams: streams.includes(one) ? one : 1, otherStreams: otherStreams.includes(one) ? one : 1 }));
  return cores.flatMap((core) => batches.flatMap((batch) => pairs.map((pair) => ({ cores: core, batch, ...pair }))));
}

/** On a CPU each stream needs a core; null when all have one. */
export function streamsNote({ streams, cores, device }: Draft): string | null {
  const most = Math.max(...streams);
  if (device !== "cpu" || most <= Math.min(...cores)) return null;
  return `${most} streams need ${most} cores: cells with fewer will fail.`;
}

export function askedOf(draft: Draft, modelId: number, engine: string, streams: number[]): PlanBenchmarkRequest {
  return {
    model_id: modelId,
    engines: engine ? [engine] : [],
    batch_sizes: draft.batches,
    cores: draft.cores,
    streams,
    instances: [draft.instances],
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
  };
}

/** Which field a refusal of the server is about; it speaks of options and of JSON fields. */
export function fieldOf(title: string, why: string): Field | null {
  const text = `${title} ${why}`.toLowerCase();
  const known: readonly [RegExp, Field][] = [
    [/stream/, "streams"],
    [/cores/, "cores"],
    [/batch/, "batches"],
    [/instances/, "instances"],
    [/device|cuda/, "device"],
    [/engine|read/, "engine"],
    [/budget|iterations|warmup|timeout/, "budget"],
    [/model/, "model"],
  ];
  return known.find(([words]) => words.test(text))?.[1] ?? null;
}

/** "2 core counts × 3 batch sizes × 2 sides = 12 cells". */
export function planWords(draft: Effective, cells: number): string {
  const counted = (counts: readonly number[], one: string) => `${counts.length} ${counts.length === 1 ? one : `${one}s`}`;
  const side = (streams: readonly number[]) =>
    [counted(draft.cores, "core count"), counted(draft.batches, "batch size"), ...(streams.length > 1 ? [counted(streams, "stream count")] : [])].join(" × ");
  const [a, b] = [side(draft.streams), side(draft.otherStreams)];
  const sides = !draft.compares || draft.existing !== null ? a : a === b ? `${a} × 2 sides` : `${a} + ${b}`;
  return `${sides} = ${cells} ${cells === 1 ? "cell" : "cells"}`;
}

/** What alternates, as a terminal would: a command for each cell. */
export function compareCommands(draft: Effective, a: string, b: string): string[] {
  const side = (name: string, engine: string, { cores, batch }: { cores: number; batch: number }, streams: number) => {
    const said = [
      engine && `engine=${engine}`,
      batch !== 1 && `batch=${batch}`,
      cores !== 1 && `cores=${cores}`,
      streams !== 1 && `streams=${streams}`,
      draft.device !== "cpu" && `device=${draft.device}`,
    ].filter(Boolean);
    const text = said.length > 0 ? `${name}@${said.join(",")}` : name;
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
  };
  const budget = draft.budget === "default" ? "" : ` --${draft.budget}`;
  return turnsOf(draft).map((turn) => `modeldyno compare ${side(a, draft.engine, turn, turn.streams)} ${side(b, draft.otherEngine, turn, turn.otherStreams)}${budget}`);
}

/** "2 benchmarks and 4 comparisons are in the queue". */
export function queuedWords(id: number, comparisons: number, hasOther: boolean): string {
  if (!hasOther) return `Benchmark ${id} is in the queue`;
  return `2 benchmarks and ${comparisons} ${comparisons === 1 ? "comparison" : "comparisons"} are in the queue`;
}

export function isDraft(value: unknown): value is Draft {
  return typeof value === "object" && value !== null && "engine" in value && "cores" in value && Array.isArray(value.cores) && "batches" in value && Array.isArray(value.batches) && "streams" in value && Array.isArray(value.streams) && "timeoutS" in value;
}
