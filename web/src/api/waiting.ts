import type { JobDocument } from "@/api/schema.gen";

/** It has begun, but another process has the cores that it needs now: only then a running job has a reason. */
export function waitsForCores(job: Pick<JobDocument, "state" | "reason">): boolean {
  return job.state === "running" && job.reason !== "";
}
