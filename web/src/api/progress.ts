import { useSyncExternalStore } from "react";

import type { FetchProgress, JobProgressDocument } from "@/api/parts";

/** The latest progress of running jobs. It is not stored anywhere: the next event replaces it. */
let progressByJob: ReadonlyMap<number, JobProgressDocument> = new Map();
let fetches: ReadonlyMap<string, FetchProgress> = new Map();
const listeners = new Set<() => void>();

export function setJobProgress(progress: JobProgressDocument): void {
  progressByJob = new Map(progressByJob).set(progress.id, progress);
  notifyListeners();
}

export function forgetJobProgress(jobId: number): void {
  if (!progressByJob.has(jobId)) return;
  const remaining = new Map(progressByJob);
  remaining.delete(jobId);
  progressByJob = remaining;
  notifyListeners();
}

export function setFetch(progress: FetchProgress): void {
  fetches = new Map(fetches).set(progress.example, progress);
  notifyListeners();
}

export function useProgressOfJobs(): ReadonlyMap<number, JobProgressDocument> {
  return useSyncExternalStore(subscribe, () => progressByJob);
}

export function useJobProgress(jobId: number | null | undefined): JobProgressDocument | undefined {
  return useSyncExternalStore(subscribe, () => (jobId == null ? undefined : progressByJob.get(jobId)));
}

export function useFetches(): ReadonlyMap<string, FetchProgress> {
  return useSyncExternalStore(subscribe, () => fetches);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notifyListeners(): void {
  listeners.forEach((listener) => listener());
}
