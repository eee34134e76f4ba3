import { NAMED_COUNTS, countWords, sizeWords, sizesOf } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { ownName, placeName, type Side } from "@/features/compare/picks";

/** Series by what tells them apart; what all of them share is said once, in the heading. */
export type SeriesNames = { of: ReadonlyMap<string, string>; shared: string };

type Aspect = { values: (side: Side) => readonly (string | number)[]; words: (values: readonly (string | number)[]) => string };

const ofCells =
  (value: (cell: Side["cells"][number]) => string | number | null): Aspect["values"] =>
  (side) => {
    const found = side.cells.flatMap((cell) => value(cell) ?? []);
    return [...new Set(found)].sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
  };
const listed = (values: readonly (string | number)[]) => values.join(", ");

const ASPECTS: readonly Aspect[] = [
  { values: (side) => [ownName(side.benchmark)].filter((name) => name !== null), words: listed },
  { values: (side) => [side.benchmark.model_name], words: listed },
  { values: ofCells((cell) => cell.engine), words: (engines) => engines.map((engine) => engineTitle(String(engine))).join(", ") },
  { values: ofCells((cell) => cell.precision), words: listed },
  { values: ofCells((cell) => cell.device), words: (devices) => (listed(devices) === "cpu" ? "CPU" : listed(devices)) },
  ...NAMED_COUNTS.map((axis) => ({
    values: ofCells((cell) => cell[axis.name]),
    words: (values: readonly (string | number)[]) => {
      const [first] = values;
      if (values.length === 1 && typeof first === "number") return countWords(axis, first);
      return axis.noun === "" ? `${axis.short} ${listed(values)}` : `${listed(values)} ${axis.noun}s`;
    },
  })),
  { values: ofCells((cell) => sizeWords(sizesOf(cell)).join(" · ") || null), words: listed },
];
// Said of a series that differs in them, but as a thing that all share not worth saying.
const USUAL = new Set(["CPU", ...NAMED_COUNTS.filter((axis) => !axis.is_always_named).map((axis) => countWords(axis, axis.usual))]);

/** "A · batch 1" and "B · batch 8", of "Two batches · ONNX Runtime · 1 core". */
export function seriesNames(sides: readonly Side[]): SeriesNames {
  const told = ASPECTS.flatMap(({ values, words }) => {
    const found = sides.map(values);
    // What has several values everywhere is told by the rows of a chart.
    if (!found.some((one) => one.length === 1)) return [];
    return [found.map((one) => (one.length > 0 ? words(one) : ""))];
  });
  const isShared = (words: readonly string[]) => words.every((one) => one === words[0]);
  const shared = told.filter(isShared).flatMap(([words]) => (words && !USUAL.has(words) ? [words] : []));
  const apart = told.filter((words) => !isShared(words));
  const bare = sides.map((_, at) => apart.flatMap((words) => words[at] || []).join(" · "));
  const names = sides.map((side, at) => {
    // Measured twice in the same way, or nothing but what all share: only the number is left.
    const isAlike = bare.some((other, place) => place !== at && other === bare[at]);
    return [letter(at), bare[at], (isAlike || !bare[at]) && `#${side.benchmark.id}`].filter(Boolean).join(" · ");
  });
  return { of: new Map(sides.map((side, at) => [side.pick, names[at] ?? side.name])), shared: shared.join(" · ") };
}

const letter = (at: number) => String.fromCharCode("A".charCodeAt(0) + at);

/** A cell of a series: its place is said unless the series is this cell. */
export function cellOf(name: string, side: Side, cell: Side["cells"][number]): string {
  return side.cells.length === 1 ? name : `${name}, ${placeName(cell)}`;
}
