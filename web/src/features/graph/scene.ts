import { useEffect, useState } from "react";

import type { Box } from "@/api/parts";
import type { ViewDocument } from "@/api/schema.gen";
import type { Point } from "@/features/graph/layered";
import type { Rect } from "@/features/graph/arrange";
import type { Times } from "@/features/graph/nodeTimes";
import { requestArrangement } from "@/features/graph/layout";
import { measureOnCanvas, layoutInput, type Written } from "@/features/graph/sizes";
import { decimals, fixedText } from "@/format/numbers";

/** A view with everything in its place: what the page draws, and what it saves. */
export type Scene = {
  boxes: readonly Box[];
  /** Open groups, the outermost first. */
  frames: readonly string[];
  links: readonly { source: string; target: string; tensors: readonly string[]; way: Point[] }[];
  rects: ReadonlyMap<string, Rect>;
  texts: ReadonlyMap<string, Written>;
  width: number;
  height: number;
};

/** The scene of a view, and whether a newer one is on its way. */
export function useScene(view: ViewDocument | undefined, times: Times | null): { scene: Scene | null; isLaying: boolean } {
  const [latest, setLatest] = useState<{ scene: Scene; of: ViewDocument; times: Times | null } | null>(null);
  useEffect(() => {
    if (!view) return;
    let isWanted = true;
    void sceneOf(view, times).then((scene) => isWanted && setLatest({ scene, of: view, times }));
    return () => {
      isWanted = false;
    };
  }, [view, times]);
  return { scene: latest?.scene ?? null, isLaying: view !== undefined && (latest?.of !== view || latest.times !== times) };
}

export async function sceneOf(view: ViewDocument, times: Times | null): Promise<Scene> {
  const { place, texts } = layoutInput(view, (id) => timeText(id, times), measureOnCanvas);
  const { rects, ways, width, height } = await requestArrangement(place);
  const frames = [...view.expanded].sort((a, b) => a.split("/").length - b.split("/").length);
  return { boxes: view.boxes, frames, links: view.links.map((link, index) => ({ ...link, way: ways[index] ?? [] })), rects, texts, width, height };
}

/** Of a node or group, in milliseconds; null if not known. */
export function msOf(id: string, times: Times | null): number | null {
  if (!times) return null;
  if (id.startsWith("node:")) return times.byNode.get(id.slice(5))?.ms ?? null;
  if (id.startsWith("group:")) return times.byScope.get(id.slice(6)) ?? null;
  return null;
}

export function timeText(id: string, times: Times | null): string | null {
  const ms = msOf(id, times);
  if (ms === null) return null;
  const isShared = id.startsWith("node:") && (times?.byNode.get(id.slice(5))?.together.length ?? 0) > 0;
  return isShared ? `${milliseconds(ms)} together` : milliseconds(ms);
}

export function milliseconds(ms: number): string {
  return ms > 0 && ms < 0.1 ? `${fixedText(ms * 1000, decimals(ms * 1000, 3))} µs` : `${fixedText(ms, decimals(ms, 3))} ms`;
}
