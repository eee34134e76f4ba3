import { notifications } from "@mantine/notifications";

import { queries } from "@/api/cache";
import { api, answerOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { BenchmarkDetailsDocument, JobDocument } from "@/api/schema.gen";
import { removeSoon } from "@/ui/undo";
import { errorText } from "@/ui/Trouble";

export const benchmarkKey = (id: number): string => `benchmark ${id}`;

function refetchLists(): void {
  void queries.invalidateQueries({ queryKey: queryKeys.benchmarks });
  void queries.invalidateQueries({ queryKey: queryKeys.jobs });
}

/** Notifies of a refusal when there is no form to show it. */
export async function attempt<T>(what: string, request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    const { title, why, fix } = errorText(error);
    notifications.show({ color: "red", title: what, message: [title, why, fix].filter(Boolean).join(". "), autoClose: 12_000 });
    return null;
  }
}

export async function rerun(id: number): Promise<BenchmarkDetailsDocument | null> {
  const benchmark = await attempt("Not run again", answerOf(api.POST("/api/v1/benchmarks/{benchmark_id}/rerun", { params: { path: { benchmark_id: id } } })));
  refetchLists();
  return benchmark;
}

export async function runNow(id: number): Promise<void> {
  await attempt("Not started", answerOf(api.POST("/api/v1/benchmarks/{benchmark_id}/runs", { params: { path: { benchmark_id: id } } })));
  refetchLists();
}

type Move = "cancel" | "resume" | "next";

export async function moveJob(jobId: number, move: Move): Promise<JobDocument | null> {
  const path = { params: { path: { job_id: jobId } } };
  const calls = {
    cancel: () => api.POST("/api/v1/jobs/{job_id}/cancel", path),
    resume: () => api.POST("/api/v1/jobs/{job_id}/resume", path),
    next: () => api.POST("/api/v1/jobs/{job_id}/next", path),
  };
  const words = { cancel: "Not cancelled", resume: "Not resumed", next: "Not moved" };
  const job = await attempt(words[move], answerOf(calls[move]()));
  refetchLists();
  return job;
}

/** Removed after ten seconds, unless it is undone. */
export function removeBenchmark(row: { id: number; name: string }): void {
  removeSoon(benchmarkKey(row.id), `Benchmark ${row.id}, ${row.name},`, async () => {
    await answerOf(api.DELETE("/api/v1/benchmarks/{benchmark_id}", { params: { path: { benchmark_id: row.id }, query: { cascade: true } } }));
    refetchLists();
  });
}
