import { useSyncExternalStore } from "react";

/** Whether events reach us; `since` is when that last changed. */
export type Connection = { isUp: boolean; since: Date };

let connection: Connection = { isUp: true, since: new Date() };
const listeners = new Set<() => void>();

export function setConnection(isUp: boolean): void {
  if (connection.isUp === isUp) return;
  connection = { isUp, since: new Date() };
  listeners.forEach((listener) => listener());
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
