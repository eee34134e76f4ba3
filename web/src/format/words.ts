import { NAMED_COUNTS, countWords, sizeWords, sizesOf, type CountName } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { FORMATS } from "@/api/formats.gen";
import type { MeasuredFigure } from "@/api/figures";
import { percent } from "@/format/numbers";

const FORMAT_TITLES = new Map<string, string>(FORMATS.map((format) => [format.name, format.title]));

export const formatName = (format: string): string => FORMAT_TITLES.get(format) ?? format;

/** The engine for tests plays back a script: it is only offered in projects that have such a file. */
export const isForPeople = (engine: { name: string }): boolean => engine.name !== "scripted";

/** "onnxruntime · 2 cores" as "ONNX Runtime · 2 cores". */
export function withEngineTitle(text: string): string {
  return text.replace(/^[\w.-]+(?= · )/, engineTitle);
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "4 cores · batch 8 · seq 128", the name of a cell. */
export function cellName(cell: Partial<Record<CountName, number>>): string {
  const words = NAMED_COUNTS.flatMap((axis) => {
    const value = cell[axis.name] ?? axis.usual;
    return axis.is_always_named || value !== axis.usual ? [countWords(axis, value)] : [];
  });
  return [...words, ...sizeWords(sizesOf(cell))].join(" · ");
}

/** What the ± of a figure is of; empty if there is none. */
export function intervalWords(figure: MeasuredFigure | null): string {
  if (figure === null || figure.low === null) return "";
  if (figure.of !== "repeat") return `± over the ${figure.of ?? "sessions"} of this run`;
  const { low, high } = figure.own;
  return low === null || high === null ? "± of a repeat" : `± of a repeat; ±${percent((high - low) / 2 / figure.value, 1)} within this run`;
}
