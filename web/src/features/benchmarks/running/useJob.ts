import { useQuery } from "@tanstack/react-query";

import { useJobProgress } from "@/api/progress";
import { jobQuery } from "@/api/queries";
import type { CellProgressDocument, JobDocument } from "@/api/schema.gen";

export type Progress = {
  done: number;
  planned: number;
  share: number;
  doing: string;
  remainingS: number | null;
  estimateMs: number | null;
  halfWidth: number | null;
  cells: readonly CellProgressDocument[];
  notices: readonly string[];
};

/** A job and its progress: from events, and before the first of them from the job itself. */
export function useJob(jobId: number | null | undefined): { job: JobDocument | undefined; progress: Progress | null } {
  const job = useQuery({ ...jobQuery(jobId ?? 0), enabled: jobId != null }).data;
  const latest = useJobProgress(jobId) ?? job?.progress;
  if (!latest || (job && job.state !== "running")) return { job, progress: null };
  const { units_done: done, units_planned: planned } = latest;
  return {
    job,
    progress: {
      done,
      planned,
      share: planned > 0 ? Math.min(1, done / planned) : 0,
      doing: latest.doing,
      remainingS: latest.remaining_s ?? null,
      estimateMs: latest.estimate_ms ?? null,
      halfWidth: latest.relative_half_width ?? null,
      cells: latest.cells,
      notices: latest.notices,
    },
  };
}
