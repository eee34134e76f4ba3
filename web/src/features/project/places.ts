import type { NextStep } from "@/api/parts";

/** The page of a next step; null if it runs at once. */
export function placeOf(pid: number, step: NextStep): { to: string; search?: Record<string, unknown> } | null {
  switch (step.action) {
    case "add-model":
      return { to: "/new", search: { project: pid } };
    case "complete-model":
    case "trust-model":
      return { to: `/p/${pid}/models/${step.model_id}` };
    case "add-benchmark":
    case "add-engine":
      return { to: `/p/${pid}/benchmarks`, search: { add: true } };
    case "compare":
      return { to: `/p/${pid}/compare`, search: { a: step.benchmark_id, b: step.other_benchmark_id } };
    case "set-baseline":
      return { to: `/p/${pid}/benchmarks` };
    case "add-profile":
      return { to: `/p/${pid}/profiles` };
    case "rerun-benchmark":
      return null;
    default:
      return step.action satisfies never;
  }
}

/** Identifies a step, to remember that it was dismissed. */
export const stepKey = (step: NextStep): string =>
  [step.action, step.model_id, step.benchmark_id, step.other_benchmark_id, step.engine].map((part) => part ?? "").join("|");
