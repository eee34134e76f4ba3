import { useQuery } from "@tanstack/react-query";

import { useStanding } from "@/api/progress";
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

/** A job and how far it is: as events tell it, and as it was asked before the first of them. */
export function useJob(jobId: number | null | undefined): { job: JobDocument | undefined; progress: Progress | null } {
  const job = useQuery({ ...jobQuery(jobId ?? 0), enabled: jobId != null }).data;
  const told = useStanding(jobId) ?? job?.progress;
  if (!told || (job && job.state !== "running")) return { job, progress: null };
  const { units_done: done, units_planned: planned } = told;
  return {
    job,
    progress: {
      done,
      planned,
      share: planned > 0 ? Math.min(1, done / planned) : 0,
      doing: told.doing,
      remainingS: told.remaining_s ?? null,
      estimateMs: told.estimate_ms ?? null,
      halfWidth: told.relative_half_width ?? null,
      cells: told.cells,
      notices: told.notices,
    },
  };
}
