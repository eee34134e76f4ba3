import { useEffect } from "react";

/** Where a browser keeps that its person wants no single-key shortcuts. */
export const SHORTCUTS_OFF = "modeldyno.shortcuts-off";

/** Keys of one page; true from `hear` means that it did something with it. */
export function usePageKeys(onKey: (key: string) => boolean): void {
  useEffect(() => {
    const listen = (event: Event) => {
      if (event instanceof CustomEvent && typeof event.detail === "string" && onKey(event.detail)) event.preventDefault();
    };
    window.addEventListener("modeldyno:key", listen);
    return () => window.removeEventListener("modeldyno:key", listen);
  }, [onKey]);
}
