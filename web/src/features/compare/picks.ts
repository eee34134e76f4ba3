import { COUNT_AXES, NESTED_COUNTS, bySizes, sizeWords, sizesOf } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import type { BenchmarkSummary, CellDocument } from "@/api/schema.gen";
import { cellName } from "@/format/words";

/** "12" is a benchmark, "12:3" one cell of it, "12@openvino" its cells of one engine. */
export type Pick = { benchmark: number; cell: number | null; engine: string | null };

/** A benchmark that has numbers. */
export type Measured = { id: number; name: string; model_id: number; model_name: string; cells: CellDocument[] };

/** What is compared: some cells of a benchmark, under one name. */
export type Side = { pick: string; name: string; engine: string; benchmark: Measured; cells: CellDocument[] };

export function parsePick(text: string | undefined): Pick | null {
  const match = /^(\d+)(?::(\d+)|@([\w-]+))?$/.exec(text ?? "");
  if (!match) return null;
  return { benchmark: Number(match[1]), cell: match[2] === undefined ? null : Number(match[2]), engine: match[3] ?? null };
}

/** The benchmarks of a list that have numbers. */
export function measuredOf(lines: readonly BenchmarkSummary[]): Measured[] {
  return lines.flatMap((line) => (line.cells?.some(hasNumber) ? [{ ...line, cells: line.cells }] : []));
}

export function hasNumber(cell: CellDocument): boolean {
  return cell.latency_ms !== null;
}

export function enginesOf(benchmark: Measured): string[] {
  return [...new Set(benchmark.cells.filter(hasNumber).map((cell) => cell.engine))];
}

export function sideOf(text: string | undefined, all: readonly Measured[]): Side | null {
  const pick = parsePick(text);
  const benchmark = all.find((benchmark) => benchmark.id === pick?.benchmark);
  if (!pick || !benchmark) return null;
  const cells = benchmark.cells.filter(
    (cell) => hasNumber(cell) && (pick.cell === null || cell.number === pick.cell) && (pick.engine === null || cell.engine === pick.engine),
  );
  const engines = [...new Set(cells.map((cell) => cell.engine))];
  return { pick: text ?? "", name: sideName(benchmark, pick), engine: engines.length === 1 ? (engines[0] ?? "") : "", benchmark, cells };
}

/** The name that a user gave it; null if none did: the default is "net.onnx · OpenVINO", which repeats its other fields. */
export function ownName(benchmark: Measured): string | null {
  const knownParts = [benchmark.model_name, enginesOf(benchmark).map(engineTitle).join(", ")];
  return benchmark.name.split(" · ").every((part) => knownParts.includes(part)) ? null : benchmark.name;
}

function sideName(benchmark: Measured, pick: Pick): string {
  const cell = benchmark.cells.find((other) => other.number === pick.cell);
  const name = ownName(benchmark) ?? benchmark.model_name;
  // A field is narrow, and long names are cut: what distinguishes parts of a benchmark comes first.
  const words = cell
    ? [placeName(cell), name, engineTitle(cell.engine)]
    : pick.engine
      ? [engineTitle(pick.engine), name]
      : [name, enginesOf(benchmark).map(engineTitle).join(" + ")];
  return `${words.join(" · ")} #${benchmark.id}`;
}

/** The place of a cell: cells in the same place can be compared. */
export function placeName(cell: CellDocument): string {
  return cell.device && cell.device !== "cpu" ? `${cellName(cell)} · ${cell.device}` : cellName(cell);
}

/** What cells that differ only in the batch size have in common. */
export function lineOf(cell: CellDocument): string {
  return [...COUNT_AXES.flatMap(({ name }) => (name === "batch_size" ? [] : [cell[name]])), cell.device, ...sizeWords(sizesOf(cell))].join(" ");
}

/** "1 core · batch 1 / batch 8": the places of A and B, with what they share once. */
export function pairName(a: CellDocument, b: CellDocument): string {
  const [partsA, partsB] = [placeName(a).split(" · "), placeName(b).split(" · ")];
  if (partsA.length !== partsB.length) return `${placeName(a)} / ${placeName(b)}`;
  return partsA.map((part, index) => (part === partsB[index] ? part : `${part} / ${partsB[index]}`)).join(" · ");
}

/** What there is to choose, benchmark by benchmark. */
export function choicesOf(all: readonly Measured[]): { group: string; items: { value: string; label: string }[] }[] {
  return all.map((benchmark) => {
    const engines = enginesOf(benchmark);
    const cells = benchmark.cells.filter(hasNumber);
    const whole = engines.length > 1 ? engines.map((engine) => `${benchmark.id}@${engine}`) : [String(benchmark.id)];
    const single = cells.length > 1 ? cells.map((cell) => `${benchmark.id}:${cell.number}`) : [];
    return {
      group: `#${benchmark.id} ${benchmark.name}`,
      items: [...whole, ...single].map((value) => ({ value, label: sideOf(value, [benchmark])?.name ?? value })),
    };
  });
}

/** The default pair: both engines of the newest if it has two, else the two newest. */
export function firstPair(all: readonly Measured[]): [a: string, b: string] | null {
  const [newest, before] = all;
  if (!newest) return null;
  const engines = enginesOf(newest);
  if (engines.length > 1) return [`${newest.id}@${engines[0]}`, `${newest.id}@${engines[1]}`];
  return before ? [wholePick(before), wholePick(newest)] : null;
}

function wholePick(benchmark: Measured): string {
  const engines = enginesOf(benchmark);
  return engines.length > 1 ? `${benchmark.id}@${engines[0]}` : String(benchmark.id);
}

/**
 * The pairs that the server judges. For two whole benchmarks it finds the counterparts itself; for single engines
 * those are the cells in one place.
 */
export function judgementPairs(a: Side, b: Side): [a: string, b: string][] {
  const [pickA, pickB] = [parsePick(a.pick), parsePick(b.pick)];
  if (pickA?.engine == null && pickB?.engine == null) return [[a.pick, b.pick]];
  return a.cells.flatMap((cell) => {
    const samePlace = b.cells.filter((other) => placeName(other) === placeName(cell));
    const counterparts = samePlace.length === 1 ? samePlace : samePlace.filter((same) => same.precision === cell.precision);
    const pair: [string, string] = [`${a.benchmark.id}:${cell.number}`, `${b.benchmark.id}:${counterparts[0]?.number}`];
    return counterparts.length === 1 ? [pair] : [];
  });
}

/** The two most similar cells, if the sides have none in the same place. */
export function nearestPair(a: Side, b: Side): [a: string, b: string] | null {
  let best: { pair: [string, string]; apart: number } | null = null;
  for (const cellA of a.cells) {
    for (const cellB of b.cells) {
      const sizesB = sizesOf(cellB);
      const sizes = Object.entries(sizesOf(cellA)).map(([name, size]) => size / (sizesB[name] ?? size));
      const ratios = [...COUNT_AXES.map(({ name }) => cellA[name] / cellB[name]), ...sizes];
      const distance = ratios.reduce((sum, ratio) => sum + Math.abs(Math.log2(ratio)), 0);
      if (!best || distance < best.apart) best = { pair: [`${a.benchmark.id}:${cellA.number}`, `${b.benchmark.id}:${cellB.number}`], apart: distance };
    }
  }
  return best?.pair ?? null;
}

/** All places of all sides, as cells are nested: in the order of cores, then batches. */
export function placesOf(sides: readonly Side[]): string[] {
  const cells = sides.flatMap((side) => side.cells);
  const order = (a: CellDocument, b: CellDocument) =>
    NESTED_COUNTS.map(({ name }) => a[name] - b[name]).find((difference) => difference !== 0) ?? bySizes(a, b);
  const sorted = [...cells].sort((a, b) => a.device.localeCompare(b.device) || order(a, b));
  return [...new Set(sorted.map(placeName))];
}
