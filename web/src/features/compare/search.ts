import type { Metric } from "@/api/figures";

/** The search parameters of the address. */
export type Chosen = {
  a?: string; // "12", or "12:3": cell 3 of benchmark 12
  b?: string;
  more?: string; // further series, as "13,14"
  comparison?: number; // a pair that was measured in alternation, instead of a and b
  metric?: Metric;
  diff?: boolean;
  limit?: number; // milliseconds
  tab?: string;
};
export type Change = (more: Chosen) => void;
