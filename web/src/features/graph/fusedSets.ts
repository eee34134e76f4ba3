import type { NodeDocument } from "@/api/parts";
import { kindOf } from "@/charts/kinds";

/** The operator that a node ran as, and the nodes that ran with it, if the engine says so. */
type Ran = { as: string; together: readonly string[] };

/**
 * Nodes without a time of their own that the engine fused with a timed node, by the id of the timed node.
 *
 * Not every engine says what it fused. Two things show it: a node that ran as another operator than its own
 * (a Relu that ran as Conv) took in what only leads to it, and a simple operation that has no time was done
 * by the node that makes its input.
 */
export function fusedSets(nodes: readonly NodeDocument[], timed: ReadonlyMap<string, Ran>): ReadonlyMap<string, readonly string[]> {
  const makers = new Map<string, NodeDocument>();
  const users = new Map<string, NodeDocument[]>();
  for (const node of nodes) {
    for (const output of node.outputs) if (output !== null) makers.set(output, node);
    for (const input of node.inputs) if (input !== null) users.set(input, [...(users.get(input) ?? []), node]);
  }
  const before = (node: NodeDocument) => node.inputs.flatMap((input) => makers.get(input ?? "") ?? []);
  const after = (node: NodeDocument) => node.outputs.flatMap((output) => users.get(output ?? "") ?? []);
  const home = new Map<string, string>();
  const sets = new Map<string, string[]>();
  const join = (node: NodeDocument, to: string) => {
    home.set(node.id, to);
    sets.set(to, [...(sets.get(to) ?? []), node.id]);
  };
  for (const [id, { together }] of timed) {
    const others = together.filter((other) => !timed.has(other) && !home.has(other));
    for (const other of others) home.set(other, id);
    if (others.length > 0) sets.set(id, others);
  }
  const isFree = (node: NodeDocument) => !timed.has(node.id) && !home.has(node.id) && node.op_type !== "Constant";

  for (const last of nodes) {
    const ran = timed.get(last.id);
    if (!ran || ran.together.length > 0 || isItself(last.op_type, ran.as)) continue;
    const isInside = (node: NodeDocument) => node.id === last.id || home.get(node.id) === last.id;
    const open = [...before(last)];
    for (let node = open.pop(); node; node = open.pop()) {
      if (!isFree(node) || !after(node).every(isInside)) continue;
      join(node, last.id);
      open.push(...before(node));
    }
  }
  for (const node of nodes) {
    if (!isFree(node) || !SIMPLE.has(kindOf(node.op_type))) continue;
    const maker = before(node).findLast((other) => timed.has(other.id) || home.has(other.id));
    if (maker) join(node, home.get(maker.id) ?? maker.id);
  }
  return sets;
}

const SIMPLE: ReadonlySet<string> = new Set(["Activation", "Arithmetic", "Normalisation"]);

/** "Gemm" that ran as "Gemm" or "FusedGemm" began the set that it is in. */
function isItself(op: string, as: string): boolean {
  return as.toLowerCase().includes(op.toLowerCase());
}
