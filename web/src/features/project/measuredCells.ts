import { NAMED_COUNTS, bySizes } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { msPerItem } from "@/api/figures";
import type { BenchmarkSummary, CellDocument } from "@/api/schema.gen";
import { engineLook, look } from "@/charts/palette";
import type { Dot, Dots } from "@/charts/dots";
import { cellName } from "@/format/words";

type Row = Pick<BenchmarkSummary, "model_id" | "model_name" | "cells">;
const MOST_SERIES = 6;

/** The newest number of every configuration, as dots: a row for each cell, a series for each engine and model. */
export function dotsSoFar(newestFirst: readonly Row[]): Dots {
  const models = new Set(newestFirst.map((row) => row.model_id));
  const series = new Map<string, { engine: string; dots: Map<string, Dot> }>();
  const cells = new Map<string, CellDocument>();
  for (const row of newestFirst) {
    for (const cell of row.cells ?? []) {
      const figure = msPerItem(cell);
      if (!figure) continue;
      const name = [engineTitle(cell.engine), cell.device === "cpu" ? "" : cell.device, cell.precision ?? "", models.size > 1 ? row.model_name : ""]
        .filter(Boolean)
        .join(" · ");
      const entry = series.get(name) ?? { engine: cell.engine, dots: new Map<string, Dot>() };
      series.set(name, entry);
      const cellLabel = cellName(cell);
      if (entry.dots.has(cellLabel)) continue; // a newer one is there
      cells.set(cellLabel, cell);
      entry.dots.set(cellLabel, {
        row: cellLabel,
        value: figure.value,
        low: figure.low,
        high: figure.high,
        sessions: cell.sessions,
        isNoisy: cell.noise !== "quiet",
      });
    }
  }
  const rows = [...cells]
    .sort(([, a], [, b]) => NAMED_COUNTS.map(({ name }) => a[name] - b[name]).find((difference) => difference !== 0) ?? bySizes(a, b))
    .map(([name]) => name);
  const visible = [...series].slice(0, MOST_SERIES);
  const isByEngine = new Set(visible.map(([, { engine }]) => engine)).size === visible.length;
  return {
    rows,
    row: "cell",
    metric: "ms per item",
    unit: "ms",
    series: visible.map(([name, { engine, dots }], index) => ({
      name,
      look: (isDark) => (isByEngine ? engineLook(engine, isDark) : look(index, isDark)),
      dots: [...dots.values()],
    })),
  };
}
