import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";

import { SHORTCUTS_OFF } from "@/ui/pageKeys";

/** What each key does; the sheet behind "?" shows these words. */
export const KEYS: readonly [keys: string, does: string][] = [
  ["Ctrl+K", "Search pages, projects and actions"],
  ["?", "Show these keys"],
  ["g p", "Go to all projects"],
  ["g o", "Go to the project's overview"],
  ["g b", "Go to the project's benchmarks"],
  ["g f", "Go to the project's profiles"],
  ["g q", "Go to the queue"],
  ["n", "New project"],
  ["b", "Add a benchmark"],
  ["c", "Compare the selection"],
  ["/", "Filter"],
  ["j  k", "Next or previous in a list"],
  ["x", "Select it"],
  ["Enter", "Open it"],
  ["e", "Export"],
  [".", "Open its menu"],
  ["Shift+Alt+C", "New project (as in INC Bench)"],
  ["Shift+Alt+B", "Benchmarks (as in INC Bench)"],
  ["Shift+Alt+P", "Profiles (as in INC Bench)"],
];

type Actions = { search: () => void; help: () => void };

/** Keys that work everywhere. Pages listen to "modeldyno:key" events for theirs: `usePageKeys`. */
export function useShortcuts({ search, help }: Actions): void {
  const navigate = useNavigate();
  const pid = useRouterState({ select: (state) => /^\/p\/(\d+)/.exec(state.location.pathname)?.[1] });
  useEffect(() => {
    let wentAt = 0;
    const go = (to: string) => void navigate({ to });
    const inProject = (page: string) => pid && go(`/p/${pid}/${page}`);
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        search();
        return;
      }
      if (isTyping(event.target) || localStorage.getItem(SHORTCUTS_OFF)) return;
      if (event.shiftKey && event.altKey) {
        const to: Record<string, () => unknown> = { KeyC: () => go("/new"), KeyB: () => inProject("benchmarks"), KeyP: () => inProject("profiles") };
        to[event.code]?.();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("[role=dialog]")) return;
      if (Date.now() - wentAt < 1500) {
        wentAt = 0;
        const to: Record<string, () => unknown> = {
          p: () => go("/"),
          o: () => inProject(""),
          b: () => inProject("benchmarks"),
          f: () => inProject("profiles"),
          q: () => go("/queue"),
        };
        if (to[event.key]) {
          event.preventDefault();
          to[event.key]?.();
          return;
        }
      }
      if (event.key === "g") wentAt = Date.now();
      else if (event.key === "?") help();
      else if (event.key === "n") go("/new");
      else if (event.key === "b" && pid) void navigate({ to: "/p/$pid/benchmarks", params: { pid: Number(pid) }, search: { add: true } });
      else if ("cjkxe./".includes(event.key) || event.key === "Enter") {
        const isHandled = !window.dispatchEvent(new CustomEvent("modeldyno:key", { detail: event.key, cancelable: true }));
        if (isHandled) event.preventDefault();
      }
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [navigate, pid, search, help]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
