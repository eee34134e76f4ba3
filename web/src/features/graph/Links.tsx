import { ViewportPortal } from "@xyflow/react";
import { memo, useMemo } from "react";

import { arrowPath, curvePath } from "@/features/graph/arrange";
import type { Scene } from "@/features/graph/scene";

type Props = { scene: Scene; selected: string | null };

/** All edges as a handful of lines: one element for each would cost more than all boxes. */
export const Links = memo(function Links({ scene, selected }: Props) {
  const all = useMemo(() => lines(scene.links), [scene]);
  const near = useMemo(() => lines(scene.links.filter((link) => link.source === selected || link.target === selected)), [scene, selected]);
  return (
    <ViewportPortal>
      <svg className="graph-links" width={Math.max(1, scene.width)} height={Math.max(1, scene.height)} aria-hidden data-links={scene.links.length}>
        <path className="graph-link" d={all.thin} />
        <path className="graph-link" data-many d={all.thick} />
        <path className="graph-arrow" d={all.heads} />
        <path className="graph-link" data-near d={near.thin + near.thick} />
        <path className="graph-arrow" data-near d={near.heads} />
      </svg>
    </ViewportPortal>
  );
});

/** Thick where several tensors go the same way. */
function lines(links: Scene["links"]): { thin: string; thick: string; heads: string } {
  const [thin, thick, heads]: [string[], string[], string[]] = [[], [], []];
  for (const link of links) {
    (link.tensors.length > 1 ? thick : thin).push(curvePath(link.way));
    heads.push(arrowPath(link.way));
  }
  return { thin: thin.join(""), thick: thick.join(""), heads: heads.join("") };
}
