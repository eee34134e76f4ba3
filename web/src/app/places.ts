import type { JobTold } from "@/api/schema.gen";

/** Where something that was measured is shown. */
export function placeOf(kind: JobTold["kind"], pid: number, id: number): { to: string; search?: () => { comparison: number } } {
  switch (kind) {
    case "benchmark":
      return { to: `/p/${pid}/benchmarks/${id}` };
    case "comparison":
      return { to: `/p/${pid}/compare`, search: () => ({ comparison: id }) };
    case "profile":
      return { to: `/p/${pid}/profiles/${id}` };
    case "optimization":
      return { to: `/p/${pid}` };
  }
}
