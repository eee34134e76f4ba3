import type { BenchmarkDetailsDocument } from "@/api/schema.gen";

const FAILURES: Record<string, string> = { TIMED_OUT: "Timed out", OUT_OF_MEMORY: "Out of memory", ENGINE_CRASHED: "Engine crashed" };

/** More than the bare state, where more is known; null: the state says it all. */
export function stateWord(benchmark: Pick<BenchmarkDetailsDocument, "state"> & { latest_run?: BenchmarkDetailsDocument["latest_run"] }): string | null {
  return benchmark.state === "failed" ? (FAILURES[benchmark.latest_run?.failure?.code ?? ""] ?? null) : null;
}

export const isActive = (state: BenchmarkDetailsDocument["state"]): boolean => state === "queued" || state === "running";

/** "4 of 9 cells are kept": of what was stopped. */
export function keptWords(cells: readonly { status: string | null; latency_ms: unknown }[]): string {
  const kept = cells.filter((cell) => cell.latency_ms !== null).length;
  return `${kept} of ${cells.length} ${cells.length === 1 ? "cell" : "cells"} ${kept === 1 ? "is" : "are"} kept`;
}
