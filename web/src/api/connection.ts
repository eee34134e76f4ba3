import { useSyncExternalStore } from "react";

/** Whether events reach us; `since` is when we last knew the truth. */
export type Connection = { isUp: boolean; since: Date };

let now: Connection = { isUp: true, since: new Date() };
const hearers = new Set<() => void>();

export function setConnection(isUp: boolean): void {
  if (now.isUp === isUp) return;
  now = { isUp, since: new Date() };
  hearers.forEach((hear) => hear());
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => now);
}

function subscribe(hear: () => void): () => void {
  hearers.add(hear);
  return () => hearers.delete(hear);
}
