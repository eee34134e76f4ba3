import type { Check } from "@/api/parts";

/** "on 3 inputs it differs by at most 2.1e-7 of the largest value" */
export function largestError(checks: readonly Check[]): string {
  const worst = Math.max(0, ...checks.map((check) => check.max_rel_error));
  return `on ${checks.length} inputs it differs by ${worst === 0 ? "nothing" : `at most ${worst.toPrecision(2)} of the largest value`}`;
}
