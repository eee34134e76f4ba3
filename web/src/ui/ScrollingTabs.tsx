import { Tabs } from "@mantine/core";
import { useEffect, useRef, type ReactNode } from "react";

/** Tabs in one line. On a phone they do not all fit: the open one stays visible, also when a window becomes narrow or counts arrive. */
export function ScrollingTabs({ label, open, mb, children }: { label: string; open: string; mb?: string; children: ReactNode }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    const observer = new ResizeObserver(() => bringToSight(element));
    for (const observed of [element, ...element.children]) observer.observe(observed);
    return () => observer.disconnect();
  }, [open]);
  return (
    <Tabs.List ref={list} className="scrolling-tabs" mb={mb} aria-label={label}>
      {children}
    </Tabs.List>
  );
}

/** Scrolls the tabs only: the page does not scroll. */
function bringToSight(list: HTMLElement): void {
  const open = list.querySelector<HTMLElement>("[aria-selected=true]");
  if (open) list.scrollLeft = open.offsetLeft - list.offsetLeft - (list.clientWidth - open.offsetWidth) / 2;
}
