import type { Edge, EdgeProps } from "@xyflow/react";
import { memo } from "react";

export type LinkEdgeType = Edge<{ path: string; isNear: boolean; isMany: boolean }, "link">;

export const LinkEdge = memo(function LinkEdge({ data }: EdgeProps<LinkEdgeType>) {
  return <path className="graph-link" data-near={data?.isNear || undefined} data-many={data?.isMany || undefined} d={data?.path} markerEnd="url(#graph-arrow)" />;
});
