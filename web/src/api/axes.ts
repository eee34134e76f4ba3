import { AXES } from "@/api/axes.gen";

type Axis = (typeof AXES)[number];
type Count = Extract<Axis, { kind: "count" }>;
type SideAxis = Extract<Axis, { is_of_sides: true }>;
type Capability = NonNullable<Count["capability"]>;

/** An axis whose values are whole numbers from 1 on. */
export type CountAxis = {
  /** Of a cell: one value. */
  name: Count["name"];
  /** Of a benchmark's request: several values. */
  field: Count["field"];
  /** In the head of a table, and as an option. */
  short: string;
  /** In a list of settings. */
  label: string;
  /** In which cells are nested. */
  depth: number;
  usual: number;
  /** Also when its value is usual. */
  is_always_named: boolean;
  column: "always" | "unusual" | "wanted";
  /** "core" makes "2 cores"; without one it is "batch 8". */
  noun: string;
  /** "core count": a plan of two has "2 core counts". */
  variety: string;
  title: string;
  hint: string;
  /** Where the form has it: in sight, below "More", or there with one value only. */
  place: "front" | "more" | "single";
  /** Engines without it only have the usual value. */
  capability: Capability | null;
  /** On a CPU, it takes as many cores as this number. */
  needs_core_each: boolean;
  /** Whether a side of a comparison has it. */
  is_of_sides: boolean;
  most: number;
};
/** An axis whose values are sizes by name, of a model's open dimensions: { seq: 128 }. */
type SizeAxis = {
  name: string;
  field: string;
  short: string;
  label: string;
  column: CountAxis["column"];
  variety: string;
  title: string;
  hint: string;
  most: number;
};
export type Sizes = Record<string, number>;
export type AxisName = Axis["name"];
export type CountName = Count["name"];
export type CountField = Count["field"];
export type SideAxisName = SideAxis["name"];
export type SideCountName = Extract<SideAxis, { kind: "count" }>["name"];
type SideCountAxis = CountAxis & { name: SideCountName };

/** In the order of tables. */
export const COUNT_AXES: readonly CountAxis[] = AXES.filter((axis) => axis.kind === "count");
/** In the order of names: those that are always named come first. */
export const NAMED_COUNTS: readonly CountAxis[] = [...COUNT_AXES].sort((a, b) => Number(b.is_always_named) - Number(a.is_always_named) || a.depth - b.depth);
/** In the order in which cells are nested. */
export const NESTED_COUNTS: readonly CountAxis[] = [...COUNT_AXES].sort((a, b) => a.depth - b.depth);
export const SIDE_AXES: readonly SideAxis[] = AXES.filter((axis) => axis.is_of_sides);

export function isOfSides(axis: CountAxis): axis is SideCountAxis {
  return axis.is_of_sides;
}

/** A value for each count axis, by the field of a request. */
export function byField<T>(valueOf: (axis: CountAxis) => T): Record<CountField, T> {
  return Object.fromEntries(COUNT_AXES.map((axis) => [axis.field, valueOf(axis)])) as Record<CountField, T>; // has all of them
}

/** The same for the count axes of a side of a comparison, by their names. */
export function bySideName<T>(valueOf: (axis: CountAxis) => T): Record<SideCountName, T> {
  return Object.fromEntries(COUNT_AXES.filter(isOfSides).map((axis) => [axis.name, valueOf(axis)])) as Record<SideCountName, T>; // has all of them
}

/** A cell with nothing chosen. */
export const USUAL_COUNTS = Object.fromEntries(COUNT_AXES.map((axis) => [axis.name, axis.usual])) as Record<CountName, number>; // has all of them

const isOfSizes = (axis: object): axis is SizeAxis => "kind" in axis && axis.kind === "sizes";
export const SIZE_AXES: readonly SizeAxis[] = AXES.flatMap((axis: object) => (isOfSizes(axis) ? [axis] : []));

/** Requested sizes of open dimensions, except the batch, which is an axis of its own. */
export function sizesOf(cell: object): Sizes {
  const named = SIZE_AXES.flatMap(({ name }) => Object.entries((Reflect.get(cell, name) ?? {}) as Sizes)); // the field of the axis
  return Object.fromEntries(named.filter(([name]) => name !== "batch"));
}

/** "seq 128", for each. */
export function sizeWords(sizes: Sizes): string[] {
  return Object.entries(sizes).map(([name, size]) => `${name} ${size}`);
}

/** Of several cells, by the fields of requests: each size once. */
export function sizeValues(axes: object): Record<string, number[]> {
  return Object.assign({}, ...SIZE_AXES.map(({ field }) => (Reflect.get(axes, field) ?? {}) as Record<string, number[]>)) as Record<string, number[]>; // the fields of the axes
}

/** In the order of sizes, dimension by dimension. */
export function bySizes(a: object, b: object): number {
  const [here, there] = [sizesOf(a), sizesOf(b)];
  return (
    Object.keys(here)
      .map((name) => (here[name] ?? 0) - (there[name] ?? 0))
      .find((difference) => difference !== 0) ?? 0
  );
}

/** "2 cores", "batch 8". */
export function countWords({ noun, short }: CountAxis, value: number): string {
  if (noun === "") return `${short} ${value}`;
  return `${value} ${value === 1 ? noun : `${noun}s`}`;
}
