import { useEffect } from "react";

/** The key of local storage that turns single-key shortcuts off. */
export const SHORTCUTS_OFF = "modeldyno.shortcuts-off";

/** Keys of one page; `onKey` returns true if it handled the key. */
export function usePageKeys(onKey: (key: string) => boolean): void {
  useEffect(() => {
    const listen = (event: Event) => {
      if (event instanceof CustomEvent && typeof event.detail === "string" && onKey(event.detail)) event.preventDefault();
    };
    window.addEventListener("modeldyno:key", listen);
    return () => window.removeEventListener("modeldyno:key", listen);
  }, [onKey]);
}
