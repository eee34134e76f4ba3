import type { NodeDocument } from "@/api/parts";
import type { GraphDocument, TimeDocument } from "@/api/schema.gen";
import { fusedSets } from "@/features/graph/fusedSets";
import { intervalOf } from "@/format/numbers";

/** Finds the node of the file that a node of an engine comes from; engines fuse nodes and rename them. */
export type NodeFinder = (name: string) => NodeDocument | null;

export function nodeFinderOf(graph: GraphDocument): NodeFinder {
  const byName = new Map<string, NodeDocument>();
  // Some engines name nodes by their outputs. A node's own name takes precedence.
  for (const node of graph.nodes) for (const output of node.outputs) if (output) byName.set(output, node);
  for (const node of graph.nodes) if (node.name) byName.set(node.name, node);
  for (const node of graph.nodes) byName.set(node.id, node);
  return (name) => {
    for (const candidate of [name, ...withoutFusion(name)]) {
      const node = byName.get(candidate);
      if (node) return node;
    }
    return null;
  };
}

/** A name without what ONNX Runtime's optimizer adds to it. */
function withoutFusion(name: string): string[] {
  const bare = name
    .replace(/^fused /, "")
    .replace(/\/[A-Za-z]+Fusion\/?$/, "")
    .replace(/_(nchwc|nhwc)$/, "")
    .replace(/_token_\d+$/, "");
  return bare === name ? [] : [bare];
}

export type Time = {
  ms: number;
  ci95: readonly [number, number] | null;
  share: number;
  as: string;
  /** The other nodes that the engine fused with it: the time is that of all of them. */
  together: readonly string[];
};
export type Times = {
  /** By the node's id. */
  byNode: ReadonlyMap<string, Time>;
  /** Of groups at any depth, by scope. */
  byScope: ReadonlyMap<string, number>;
  most: number;
  /** In nodes that the engine added, which are not in the file. */
  elsewhereMs: number;
  latencyMs: number;
};

export function timesOf(rows: readonly TimeDocument[], latencyMs: number, findNode: NodeFinder, nodes: readonly NodeDocument[]): Times {
  const byNode = new Map<string, Time>();
  const byScope = new Map<string, number>();
  let elsewhereMs = 0;
  for (const row of rows) {
    const parts = row.parts.flatMap((part) => findNode(part) ?? []);
    const ms = row.total_ms.value ?? 0;
    const node = findNode(row.node ?? "") ?? parts[0];
    if (!node) {
      elsewhereMs += ms;
      continue;
    }
    const before = byNode.get(node.id);
    byNode.set(node.id, {
      ms: (before?.ms ?? 0) + ms,
      ci95: before ? null : intervalOf(row.total_ms), // not known for a sum
      share: (before?.share ?? 0) + (row.share ?? 0),
      as: before ? `${before.as}, ${row.op_type}` : row.op_type,
      together: [...(before?.together ?? []), ...parts.map((part) => part.id).filter((id) => id !== node.id)],
    });
    let scope = "";
    for (const part of node.scope === "" ? [] : node.scope.split("/")) {
      scope = scope === "" ? part : `${scope}/${part}`;
      byScope.set(scope, (byScope.get(scope) ?? 0) + ms);
    }
  }
  shareOut(byNode, nodes);
  let most = 0;
  for (const time of byNode.values()) most = Math.max(most, time.ms);
  return { byNode, byScope, most, elsewhereMs, latencyMs };
}

/** Each node of a fused set has the time of the set. */
function shareOut(byNode: Map<string, Time>, nodes: readonly NodeDocument[]): void {
  for (const [home, others] of fusedSets(nodes, byNode)) {
    const time = byNode.get(home);
    if (!time) continue;
    const set = [...new Set([home, ...others])];
    for (const id of set) byNode.set(id, { ...time, together: set.filter((other) => other !== id) });
  }
}
