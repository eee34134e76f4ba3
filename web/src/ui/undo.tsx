import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useSyncExternalStore } from "react";

const PATIENCE_MS = 10_000;

/** What is about to be removed: hidden now, gone in ten seconds unless undone. */
let pendingRemovals: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

export function usePendingRemovals(): ReadonlySet<string> {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pendingRemovals,
  );
}

/** `key` is what lists hide meanwhile ("benchmark 12"). A page that closes before has removed nothing. */
export function removeSoon(key: string, what: string, remove: () => Promise<unknown>): void {
  set(key, true);
  const id = `remove ${key}`;
  const timer = setTimeout(() => {
    notifications.hide(id);
    remove()
      .catch((error: unknown) => notifications.show({ color: "red", title: `${what} was not removed`, message: error instanceof Error ? error.message : "" }))
      .finally(() => set(key, false));
  }, PATIENCE_MS);
  const undo = () => {
    clearTimeout(timer);
    notifications.hide(id);
    set(key, false);
  };
  notifications.show({
    id,
    autoClose: false,
    withCloseButton: false,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{what} will be removed</Text>
        <Button size="xs" variant="light" onClick={undo}>
          Undo
        </Button>
      </Group>
    ),
  });
}

function set(key: string, isPendingRemoval: boolean): void {
  const next = new Set(pendingRemovals);
  if (isPendingRemoval) next.add(key);
  else next.delete(key);
  pendingRemovals = next;
  listeners.forEach((listener) => listener());
}
