/** Timings of one cell in the order they were taken: milliseconds of a whole batch. */
export type Samples = { ms: Float64Array; sessions: Int32Array };

/** A sample this much above what the work costs is an outlier: flagged, never removed. */
const FAR = 1.5;
/** So many of them are no exceptions: then there is more than one peak. */
const MANY = 0.25;

export function percentile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  const below = sorted[low] ?? NaN;
  const above = sorted[Math.min(low + 1, sorted.length - 1)] ?? NaN;
  return below + (above - below) * (at - low);
}

export type Shape = { p10: number; median: number; p90: number; mean: number; most: number; outliers: number; limit: number; hasPeaks: boolean };

export function shapeOf(ms: Float64Array): Shape {
  const sorted = Float64Array.from(ms).sort();
  const p10 = percentile(sorted, 0.1);
  const limit = FAR * p10;
  let sum = 0;
  let outliers = 0;
  for (const one of sorted) {
    sum += one;
    if (one > limit) outliers += 1;
  }
  return {
    p10,
    median: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    mean: sum / sorted.length,
    most: sorted[sorted.length - 1] ?? NaN,
    outliers,
    limit,
    hasPeaks: outliers > MANY * sorted.length,
  };
}

/** Up to where a drawing goes, so that one slow call does not flatten all others. */
export function visibleUntil(shape: Shape): number {
  return Math.min(shape.most, Math.max(shape.p90 * 1.6, shape.limit * 1.1)) * 1.02;
}
