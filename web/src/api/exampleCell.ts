import { PLANNED } from "@/api/plannedCell.gen";
import type { CellDocument, Figure } from "@/api/schema.gen";

/** For tests: a figure with an interval of ± this share, over eight sessions. */
export const figureAround = (value: number, share: number): Figure => ({
  value,
  low: value * (1 - share),
  high: value * (1 + share),
  level: 0.95,
  of: "sessions",
  n: 8,
  needs: null,
  repeat: null,
});

/** For tests: a cell that was measured with this latency. */
export function measuredCell(ms: number, share: number, overrides: Partial<CellDocument> = {}): CellDocument {
  const figure = figureAround(ms, share);
  const latency = { typical: figure, floor: figure, mean: ms, stdev: null, min: ms, max: ms, p90: figure, p95: figure, p99: figure, outlier_share: 0 };
  const items = overrides.batch_size ?? 1;
  return {
    ...PLANNED,
    status: "done",
    items,
    latency_ms: latency,
    throughput_per_s: figureAround((1000 * items) / ms, share),
    sessions: 8,
    samples: 80,
    noise: "quiet",
    ...overrides,
  };
}
