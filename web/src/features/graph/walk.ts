import type { Rect } from "@/features/graph/arrange";

export type Step = "up" | "down" | "left" | "right";

/** The next box for an arrow key: up and down along edges, left and right to the nearest box. */
export function nextBox(from: string, step: Step, links: readonly { source: string; target: string }[], rects: ReadonlyMap<string, Rect>): string | null {
  const here = rects.get(from);
  if (!here) return null;
  const middle = (rect: Rect) => rect.x + rect.width / 2;
  if (step === "up" || step === "down") {
    const ends = links.flatMap((link) => (step === "down" ? (link.source === from ? [link.target] : []) : link.target === from ? [link.source] : []));
    return nearest(ends, rects, (rect) => Math.abs(rect.y - here.y) + Math.abs(middle(rect) - middle(here)));
  }
  const isBeside = (rect: Rect) => rect.y < here.y + here.height && here.y < rect.y + rect.height;
  const beside = [...rects].filter(([id, rect]) => {
    if (id === from || !isBeside(rect)) return false;
    return step === "left" ? rect.x + rect.width <= here.x : rect.x >= here.x + here.width;
  });
  return nearest(
    beside.map(([id]) => id),
    rects,
    (rect) => Math.abs(middle(rect) - middle(here)),
  );
}

function nearest(ids: readonly string[], rects: ReadonlyMap<string, Rect>, distance: (rect: Rect) => number): string | null {
  let best: string | null = null;
  let least = Infinity;
  for (const id of ids) {
    const rect = rects.get(id);
    if (rect && distance(rect) < least) {
      least = distance(rect);
      best = id;
    }
  }
  return best;
}
