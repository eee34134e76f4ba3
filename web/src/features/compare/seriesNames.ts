import { NAMED_COUNTS, countWords, sizeWords, sizesOf } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { ownName, placeName, type Side } from "@/features/compare/picks";

/** Names of series: only their differences; what all share is in the heading once. */
export type SeriesNames = { of: ReadonlyMap<string, string>; shared: string };

type Aspect = { values: (side: Side) => readonly (string | number)[]; words: (values: readonly (string | number)[]) => string };

const ofCells =
  (value: (cell: Side["cells"][number]) => string | number | null): Aspect["values"] =>
  (side) => {
    const values = side.cells.flatMap((cell) => value(cell) ?? []);
    return [...new Set(values)].sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
  };
const joined = (values: readonly (string | number)[]) => values.join(", ");

const ASPECTS: readonly Aspect[] = [
  { values: (side) => [ownName(side.benchmark)].filter((name) => name !== null), words: joined },
  { values: (side) => [side.benchmark.model_name], words: joined },
  { values: ofCells((cell) => cell.engine), words: (engines) => engines.map((engine) => engineTitle(String(engine))).join(", ") },
  { values: ofCells((cell) => cell.precision), words: joined },
  { values: ofCells((cell) => cell.device), words: (devices) => (joined(devices) === "cpu" ? "CPU" : joined(devices)) },
  ...NAMED_COUNTS.map((axis) => ({
    values: ofCells((cell) => cell[axis.name]),
    words: (values: readonly (string | number)[]) => {
      const [first] = values;
      if (values.length === 1 && typeof first === "number") return countWords(axis, first);
      return axis.noun === "" ? `${axis.short} ${joined(values)}` : `${joined(values)} ${axis.noun}s`;
    },
  })),
  { values: ofCells((cell) => sizeWords(sizesOf(cell)).join(" · ") || null), words: joined },
];
// Part of a name only where series differ in them; not worth mentioning if all share them.
const USUAL = new Set(["CPU", ...NAMED_COUNTS.filter((axis) => !axis.is_always_named).map((axis) => countWords(axis, axis.usual))]);

/** "A · batch 1" and "B · batch 8", of "Two batches · ONNX Runtime · 1 core". */
export function seriesNames(sides: readonly Side[]): SeriesNames {
  const texts = ASPECTS.flatMap(({ values, words }) => {
    const valuesOfSides = sides.map(values);
    // If every side has several values, the rows of the chart show them.
    if (!valuesOfSides.some((values) => values.length === 1)) return [];
    return [valuesOfSides.map((values) => (values.length > 0 ? words(values) : ""))];
  });
  const isShared = (words: readonly string[]) => words.every((word) => word === words[0]);
  const shared = texts.filter(isShared).flatMap(([words]) => (words && !USUAL.has(words) ? [words] : []));
  const differing = texts.filter((words) => !isShared(words));
  const shortNames = sides.map((_, index) => differing.flatMap((words) => words[index] || []).join(" · "));
  const names = sides.map((side, index) => {
    // The same settings twice, or no differences at all: only the number distinguishes them.
    const isAlike = shortNames.some((other, otherIndex) => otherIndex !== index && other === shortNames[index]);
    return [sideLetter(index), shortNames[index], (isAlike || !shortNames[index]) && `#${side.benchmark.id}`].filter(Boolean).join(" · ");
  });
  return { of: new Map(sides.map((side, index) => [side.pick, names[index] ?? side.name])), shared: shared.join(" · ") };
}

const sideLetter = (index: number) => String.fromCharCode("A".charCodeAt(0) + index);

/** A cell of a series: with its place, unless the series is this cell only. */
export function cellLabel(name: string, side: Side, cell: Side["cells"][number]): string {
  return side.cells.length === 1 ? name : `${name}, ${placeName(cell)}`;
}
