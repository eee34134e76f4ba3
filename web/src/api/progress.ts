import { useSyncExternalStore } from "react";

import type { FetchStanding, JobProgressDocument } from "@/api/parts";

/** Where running jobs stand, as told last. Progress is not kept anywhere: the next one makes up for it. */
let standings: ReadonlyMap<number, JobProgressDocument> = new Map();
let fetches: ReadonlyMap<string, FetchStanding> = new Map();
const hearers = new Set<() => void>();

export function setStanding(standing: JobProgressDocument): void {
  standings = new Map(standings).set(standing.id, standing);
  tell();
}

export function forgetStanding(jobId: number): void {
  if (!standings.has(jobId)) return;
  const left = new Map(standings);
  left.delete(jobId);
  standings = left;
  tell();
}

export function setFetch(standing: FetchStanding): void {
  fetches = new Map(fetches).set(standing.example, standing);
  tell();
}

export function useStandings(): ReadonlyMap<number, JobProgressDocument> {
  return useSyncExternalStore(subscribe, () => standings);
}

export function useStanding(jobId: number | null | undefined): JobProgressDocument | undefined {
  return useSyncExternalStore(subscribe, () => (jobId == null ? undefined : standings.get(jobId)));
}

export function useFetches(): ReadonlyMap<string, FetchStanding> {
  return useSyncExternalStore(subscribe, () => fetches);
}

function subscribe(hear: () => void): () => void {
  hearers.add(hear);
  return () => hearers.delete(hear);
}

function tell(): void {
  hearers.forEach((hear) => hear());
}
