import { sizeWords, sizesOf } from "@/api/axes";
import { itemsPerSecond, msPerBatch } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { intervalOf, fixedText, quantity } from "@/format/numbers";

export type Candidate = { name: string; cell: CellDocument };
export type SweetSpot = { winners: Candidate[]; reason: string };

/** One for each workload: computing less is not better. `of` names the workload if there are several. */
export function sweetSpots(candidates: readonly Candidate[], limitMs: number): (SweetSpot & { of: string })[] {
  const sizes = ({ cell }: Candidate) => sizeWords(sizesOf(cell)).join(" · ");
  return [...new Set(candidates.map(sizes))].map((of) => ({
    of,
    ...sweetSpot(
      candidates.filter((candidate) => sizes(candidate) === of),
      limitMs,
    ),
  }));
}

/**
 * The most items per second among those whose whole batch takes no longer than the limit. Several where their
 * intervals overlap: those are not ranked.
 */
export function sweetSpot(candidates: readonly Candidate[], limitMs: number): SweetSpot {
  const usable = candidates.filter(({ cell }) => cell.throughput_per_s !== null && cell.latency_ms !== null && cell.noise !== "unusable");
  // The upper end: a limit that is kept half of the time is not kept.
  const within = usable.filter(({ cell }) => slowest(cell) <= limitMs);
  const ranked = [...within].sort((a, b) => rate(b).value - rate(a).value);
  const [best] = ranked;
  const limit = `${fixedText(limitMs, limitMs < 10 ? 2 : 0)} ms`;
  if (!best) {
    const quickest = [...usable].sort((a, b) => slowest(a.cell) - slowest(b.cell))[0];
    const nearest = quickest ? ` The quickest is ${quickest.name}: ${latency(quickest.cell)}.` : "";
    return { winners: [], reason: `No cell here stays within ${limit}.${nearest}` };
  }
  const winners = ranked.filter((candidate) => candidate === best || (rate(candidate).high ?? Infinity) >= (rate(best).low ?? -Infinity));
  const others = within.length - winners.length;
  const figures = `${quantity(rate(best).value, intervalOf(rate(best)), "items/s").value} items/s at ${latency(best.cell)}`;
  if (winners.length > 1) {
    return { winners, reason: `${winners.length} are within ${limit} and not clearly apart: ${winners.map(({ name }) => name).join("; ")}.` };
  }
  const comparedWith = others > 0 ? `more than the ${others} other${others > 1 ? "s" : ""} within ${limit}` : `the only one within ${limit}`;
  return { winners, reason: `${best.name}: ${figures}, ${comparedWith}.` };
}

function rate({ cell }: Candidate): { value: number; low: number | null; high: number | null } {
  return itemsPerSecond(cell) ?? { value: 0, low: null, high: null };
}

function slowest(cell: CellDocument): number {
  const figure = msPerBatch(cell);
  return figure?.high ?? figure?.value ?? Infinity;
}

function latency(cell: CellDocument): string {
  const figure = msPerBatch(cell);
  const formatted = quantity(figure?.value, figure && intervalOf(figure), "ms");
  return `${formatted.value}${formatted.spread ? ` ${formatted.spread}` : ""} ms`;
}
