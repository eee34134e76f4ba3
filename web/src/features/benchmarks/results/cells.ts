import { AXES } from "@/api/axes.gen";
import { COUNT_AXES, countWords, sizeValues, sizeWords, sizesOf, type AxisName, type Sizes } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { METRICS, withinRun, type MeasuredFigure, type Metric } from "@/api/figures";
import type { BenchmarkDetailsDocument, CellDocument } from "@/api/schema.gen";
import type { Point } from "@/charts/scaling";
import type { Interval } from "@/format/numbers";
import { intervalWords } from "@/format/words";

export function intervalOf(figure: MeasuredFigure | null): Interval | null {
  return figure === null || figure.low === null || figure.high === null ? null : [figure.low, figure.high];
}

/** Those that charts go along. */
const isSwept = ({ name }: { name: AxisName }): boolean => name === "cores" || name === "batch_size";
const VARIANT_AXES = AXES.filter((axis) => axis.kind !== "sizes").filter((axis) => !isSwept(axis));
const VARIANT_COUNTS = COUNT_AXES.filter((axis) => !isSwept(axis));

/** Everything but cores and batch size, and but one dimension: what a series of a chart is. */
export function variantOf(cell: Pick<CellDocument, AxisName>, dimension = ""): string {
  return [...VARIANT_AXES.map(({ name }) => cell[name] ?? ""), ...sizeWords(sizesWithout(cell, dimension))].join(" ");
}

function sizesWithout(cell: object, dimension: string): Sizes {
  return Object.fromEntries(Object.entries(sizesOf(cell)).filter(([name]) => name !== dimension));
}

/** Its name: the engine, and what else distinguishes it from the others. */
export function variantName(cell: CellDocument, among: readonly CellDocument[], dimension = ""): string {
  const differs = (of: (cell: CellDocument) => unknown) => new Set(among.map(of)).size > 1;
  const words = [cell.engine ? engineTitle(cell.engine) : "First engine that can read it"];
  if (differs((other) => other.device)) words.push(cell.device);
  if (differs((other) => other.precision) && cell.precision) words.push(cell.precision);
  for (const axis of VARIANT_COUNTS) if (differs((other) => other[axis.name])) words.push(countWords(axis, cell[axis.name]));
  for (const [name, size] of Object.entries(sizesWithout(cell, dimension))) if (differs((other) => sizesOf(other)[name])) words.push(`${name} ${size}`);
  return words.join(" · ");
}

export type CellSelection = { engine?: string; cores?: number; batch?: number };

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

export type Choice = {
  variants: { value: string; label: string }[];
  cores: number[];
  batches: number[];
  chosen: CellDocument | undefined;
};

/** What the drop-downs offer, and the cell that they select; a choice that does not exist falls back to one that does. */
export function choose(cells: readonly CellDocument[], selection: CellSelection): Choice {
  const first = cells.find((cell) => cell.latency_ms !== null) ?? cells[0];
  const variants = unique(cells.map((cell) => variantOf(cell))).map((value) => {
    const cell = cells.find((other) => variantOf(other) === value);
    return { value, label: cell ? variantName(cell, cells) : value };
  });
  const engine = variants.some(({ value }) => value === selection.engine) ? selection.engine : first && variantOf(first);
  const own = cells.filter((cell) => variantOf(cell) === engine);
  const cores = unique(own.map((cell) => cell.cores)).sort((a, b) => a - b);
  const batches = unique(own.map((cell) => cell.batch_size)).sort((a, b) => a - b);
  const start = own.find((cell) => cell.latency_ms !== null) ?? own[0];
  const core = selection.cores !== undefined && cores.includes(selection.cores) ? selection.cores : start?.cores;
  const batch = selection.batch !== undefined && batches.includes(selection.batch) ? selection.batch : start?.batch_size;
  const chosen = own.find((cell) => cell.cores === core && cell.batch_size === batch) ?? start;
  return { variants, cores, batches, chosen };
}

/** Points of one variant along an axis, the other axis held as in `fixed`. */
export function pointsOf(cells: readonly CellDocument[], variant: string, along: "cores" | "batch_size", fixed: CellDocument, metric: Metric): Point[] {
  const held = along === "cores" ? "batch_size" : "cores";
  return cells
    .filter((cell) => variantOf(cell) === variant && cell[held] === fixed[held])
    .sort((a, b) => a[along] - b[along])
    .map((cell) => pointOf(cell, cell[along], metric));
}

/** The cell of such a point. */
export function cellAt(
  cells: readonly CellDocument[],
  variant: string,
  along: "cores" | "batch_size",
  fixed: CellDocument,
  x: number,
): CellDocument | undefined {
  const held = along === "cores" ? "batch_size" : "cores";
  return cells.find((cell) => variantOf(cell) === variant && cell[held] === fixed[held] && cell[along] === x);
}

function pointOf(cell: CellDocument, x: number, metric: Metric): Point {
  const figure = withinRun(METRICS[metric].of(cell));
  return {
    x,
    value: figure?.value ?? null,
    low: figure?.low ?? null,
    high: figure?.high ?? null,
    sessions: cell.sessions,
    isNoisy: cell.noise !== null && cell.noise !== "quiet",
  };
}

/** Dimensions that were measured with several sizes. */
export function dimensionsOf(cells: readonly CellDocument[]): string[] {
  const names = unique(cells.flatMap((cell) => Object.keys(sizesOf(cell))));
  return names.filter((name) => new Set(cells.flatMap((cell) => sizesOf(cell)[name] ?? [])).size > 1);
}

/** Along the sizes of a dimension, cores and batch size held as in `fixed`: the points of each variant, with one of its cells. */
export function sizeSeries(
  cells: readonly CellDocument[],
  dimension: string,
  fixed: CellDocument,
  metric: Metric,
): { cell: CellDocument; name: string; points: Point[] }[] {
  const own = cells.filter((cell) => cell.cores === fixed.cores && cell.batch_size === fixed.batch_size);
  return unique(own.map((cell) => variantOf(cell, dimension))).flatMap((variant) => {
    const line = own.filter((cell) => variantOf(cell, dimension) === variant);
    const points = line.flatMap((cell) => {
      const x = sizesOf(cell)[dimension];
      return x === undefined ? [] : [pointOf(cell, x, metric)];
    });
    const [cell] = line;
    return cell ? [{ cell, name: variantName(cell, cells, dimension), points: points.sort((a, b) => a.x - b.x) }] : [];
  });
}

/** The line under a number: "12 sessions", and what its ± is of, or why there is none. */
export function basisOf(cell: Pick<CellDocument, "sessions" | "samples" | "interval_note">, figure: MeasuredFigure | null = null): string {
  const n = cell.sessions === 0 ? "" : `n = ${cell.sessions} ${cell.sessions === 1 ? "session" : "sessions"}`;
  return cell.interval_note ? `no interval: ${cell.interval_note}` : [n, intervalWords(figure)].filter(Boolean).join(" · ");
}

/** "ONNX Runtime · fp32 · CPU": of what it measured. */
export function setupText(row: Pick<BenchmarkDetailsDocument, "axes">): string {
  const { engines, precisions, devices } = row.axes;
  return [engines.map(engineTitle).join(", "), precisions.join(", "), devices.map((device) => (device === "cpu" ? "CPU" : device)).join(", ")]
    .filter(Boolean)
    .join(" · ");
}

export function axesText(row: Pick<BenchmarkDetailsDocument, "axes">): string {
  const named = COUNT_AXES.filter(({ field, usual, is_always_named }) => is_always_named || row.axes[field].some((value) => value !== usual));
  const sizes = Object.entries(sizeValues(row.axes)).filter(([name]) => name !== "batch");
  return [...named.map(({ field, short }) => `${short} ${row.axes[field].join(", ")}`), ...sizes.map(([name, own]) => `${name} ${own.join(", ")}`)].join(" · ");
}

/** Grid of a running job: rows are batch sizes (per variant), columns cores. */
export type Slot<Progress> = { cell: CellDocument; progress: Progress | undefined };

/** The progress of each cell: by position, or by name if cells are left out. */
export function slotsOf<Progress extends { name: string }>(cells: readonly CellDocument[], progress: readonly Progress[]): Slot<Progress>[] {
  const isWhole = progress.length === cells.length;
  return cells.map((cell, index) => ({ cell, progress: isWhole ? progress[index] : progress.find((entry) => entry.name === cell.name) }));
}

type Surprise = CellDocument["surprises"][number];

export const isOfOutput = ({ about }: Surprise): boolean => about === "output";

/** Each sentence once; of several cells, with the cell it is about. */
function sentences(cells: readonly CellDocument[], isIncluded: (surprise: Surprise) => boolean): string[] {
  const named = cells.flatMap((cell) => cell.surprises.filter(isIncluded).map(({ text }) => (cells.length > 1 ? `${cell.name}: ${text}` : text)));
  return [...new Set(named)];
}

/** Where engines deviated from the request. */
export function surprisesOf(cells: readonly CellDocument[]): string[] {
  return sentences(cells, (surprise) => !isOfOutput(surprise));
}

/** Outputs that hold NaN, infinity or one value everywhere. */
export function unusualOutputsOf(cells: readonly CellDocument[]): string[] {
  return sentences(cells, isOfOutput);
}
