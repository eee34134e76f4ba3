import { scopeAround } from "@/features/graph/arrange";

/** Which groups are open: the default, all except some, or some with those around them. */
export type Opened = { kind: "first" } | { kind: "all"; except: readonly string[] } | { kind: "some"; scopes: readonly string[] };

// No scope has this name: scopes have no empty parts.
const ALL = "*";
const NONE = "/";

/** As in the address: "a,b/c" opens those, "*" all, "*,a" all but a, "/" none. */
export function parseOpened(text: string | undefined): Opened {
  if (text === undefined) return { kind: "first" };
  const [first, ...rest] = text.split(",").map((part) => part.replaceAll("%2C", ",").replaceAll("%25", "%"));
  if (first === ALL) return { kind: "all", except: rest };
  if (first === NONE || first === undefined) return { kind: "some", scopes: [] };
  return { kind: "some", scopes: [first, ...rest] };
}

export function formatOpened(opened: Opened): string | undefined {
  const listed = (scopes: readonly string[]) => scopes.map((scope) => scope.replaceAll("%", "%25").replaceAll(",", "%2C"));
  if (opened.kind === "first") return undefined;
  if (opened.kind === "all") return [ALL, ...listed(opened.except)].join(",");
  return opened.scopes.length === 0 ? NONE : listed(opened.scopes).join(",");
}

/** The query for the server. */
export function viewQuery(opened: Opened): { depth?: number; expand?: string[]; collapse?: string[] } {
  switch (opened.kind) {
    case "first":
      return {};
    case "all":
      return { depth: 100, collapse: [...opened.except] };
    case "some":
      return opened.scopes.length === 0 ? { depth: 0 } : { expand: [...opened.scopes] };
    default:
      return opened satisfies never;
  }
}

/** With one more open, and all that are around it. `expanded` are the groups that are open now. */
export function withOpen(opened: Opened, expanded: readonly string[], scope: string): Opened {
  if (opened.kind === "all") return { kind: "all", except: opened.except.filter((other) => !isAround(other, scope)) };
  return { kind: "some", scopes: innermost([...expanded, scope]) };
}

/** Without this one, and all that are inside it. */
export function withClosed(opened: Opened, expanded: readonly string[], scope: string): Opened {
  if (opened.kind === "all") return { kind: "all", except: [...opened.except.filter((other) => !isAround(scope, other)), scope] };
  const left = expanded.filter((other) => !isAround(scope, other));
  return { kind: "some", scopes: innermost(left) };
}

/** Whether `outer` is `inner` or around it. */
export function isAround(outer: string, inner: string): boolean {
  return outer === inner || inner.startsWith(`${outer}/`);
}

/** The innermost ones: opening them opens those around them. */
function innermost(scopes: readonly string[]): string[] {
  const outer = new Set<string>();
  for (const scope of scopes) for (let around = scopeAround(scope); around !== ""; around = scopeAround(around)) outer.add(around);
  return [...new Set(scopes)].filter((scope) => !outer.has(scope));
}
