import type { NodeDocument } from "@/api/parts";

/** Nodes whose name or operator has these words in it, or fits a pattern between slashes ("/conv[0-9]$/"). */
export function findNodes(nodes: readonly NodeDocument[], text: string): readonly NodeDocument[] {
  const query = text.trim();
  if (query === "") return [];
  const pattern = patternOf(query);
  if (pattern) return nodes.filter((node) => pattern.test(node.id) || pattern.test(node.op_type));
  const small = query.toLowerCase();
  const fits = nodes.filter((node) => node.id.toLowerCase().includes(small) || node.op_type.toLowerCase().includes(small));
  // An exact name or operator comes first.
  const weight = (node: NodeDocument) => (node.id.toLowerCase() === small ? 0 : node.op_type.toLowerCase() === small ? 1 : 2);
  return fits
    .map((node, index) => ({ node, at: index }))
    .sort((a, b) => weight(a.node) - weight(b.node) || a.at - b.at)
    .map(({ node }) => node);
}

function patternOf(text: string): RegExp | null {
  const source = /^\/(.+?)\/?$/.exec(text)?.[1];
  if (source === undefined) return null;
  try {
    return new RegExp(source, "i");
  } catch {
    return null; // half typed
  }
}
