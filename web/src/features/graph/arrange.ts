import { layoutLayers, type Flow, type Point } from "@/features/graph/layered";

/** What to place: boxes with their sizes, and open groups with the size of their heads. */
export type ToPlace = {
  boxes: readonly { id: string; parent: string; width: number; height: number }[];
  frames: readonly { scope: string; width: number; height: number }[];
  links: readonly { source: string; target: string }[];
};
export type Rect = Point & { width: number; height: number };
export type Arrangement = {
  /** Of boxes by id and of open groups by "group:…", all from the same corner. */
  rects: Map<string, Rect>;
  /** Of each link, in order. */
  ways: Point[][];
  width: number;
  height: number;
};

const INSIDE = 16; // between a frame and what is in it
const HEAD = 10; // below its name

export const frameId = (scope: string): string => `group:${scope}`;
export const scopeAround = (scope: string): string => scope.slice(0, Math.max(0, scope.lastIndexOf("/")));

type Level = { members: { id: string; width: number; height: number }[]; flows: Flow[]; flowIndex: Map<string, number> };

/** Each open group by itself, the innermost first: opening one changes nothing inside the others. */
export function arrange({ boxes, frames, links }: ToPlace): Arrangement {
  const parents = new Map<string, string>(); // of boxes and frames: the scope around them
  for (const frame of frames) parents.set(frameId(frame.scope), scopeAround(frame.scope));
  for (const box of boxes) parents.set(box.id, box.parent);
  const levels = new Map<string, Level>([["", { members: [], flows: [], flowIndex: new Map() }]]);
  for (const frame of frames) levels.set(frame.scope, { members: [], flows: [], flowIndex: new Map() });
  for (const box of boxes) levels.get(box.parent)?.members.push(box);

  const routes = links.map((link) => routeOf(link, parents, levels));
  const layouts = new Map<string, ReturnType<typeof layoutLayers>>();
  const inside = new Map<string, Point>(); // where the members of a frame begin
  const innermostFirst = [...frames].sort((a, b) => depth(b.scope) - depth(a.scope));
  for (const frame of innermostFirst) {
    const level = levels.get(frame.scope);
    if (!level) continue;
    const layout = layoutLayers(level.members, level.flows);
    layouts.set(frame.scope, layout);
    const width = Math.max(layout.width, frame.width) + 2 * INSIDE;
    const top = frame.height + HEAD;
    inside.set(frame.scope, { x: (width - layout.width) / 2, y: top });
    levels.get(scopeAround(frame.scope))?.members.push({ id: frameId(frame.scope), width, height: top + layout.height + INSIDE });
  }
  const root = levels.get("");
  const whole = layoutLayers(root?.members ?? [], root?.flows ?? []);
  layouts.set("", whole);

  const rects = new Map<string, Rect>();
  const corners = new Map<string, Point>([["", { x: 0, y: 0 }]]);
  for (const scope of ["", ...frames.map((frame) => frame.scope).sort((a, b) => depth(a) - depth(b))]) {
    if (scope !== "") {
      const frame = rects.get(frameId(scope));
      const begin = inside.get(scope);
      if (frame && begin) corners.set(scope, { x: frame.x + begin.x, y: frame.y + begin.y });
    }
    const corner = corners.get(scope);
    const layout = layouts.get(scope);
    for (const member of levels.get(scope)?.members ?? []) {
      const place = layout?.places.get(member.id);
      if (place && corner) rects.set(member.id, { x: corner.x + place.x, y: corner.y + place.y, width: member.width, height: member.height });
    }
  }
  const ways = routes.map((route, index) => wayOfRoute(route, links[index], { layouts, corners, rects }));
  return { rects, ways, width: whole.width, height: whole.height };
}

const depth = (scope: string): number => (scope === "" ? 0 : scope.split("/").length);

type Route = { scope: string; flow: number; isWhole: boolean };

/** The level of a link: the innermost open group that holds both of its ends. */
function routeOf(link: { source: string; target: string }, parents: ReadonlyMap<string, string>, levels: ReadonlyMap<string, Level>): Route | null {
  const from = ancestorsOf(link.source, parents);
  const to = ancestorsOf(link.target, parents);
  for (const [scope, source] of from) {
    const target = to.get(scope);
    const level = levels.get(scope);
    if (target === undefined || !level) continue;
    const key = `${source}\n${target}`;
    let flow = level.flowIndex.get(key);
    if (flow === undefined) {
      flow = level.flows.push({ source, target }) - 1;
      level.flowIndex.set(key, flow);
    }
    return { scope, flow, isWhole: source === link.source && target === link.target };
  }
  return null;
}

/** The box or frame that holds a box on each level around it, the innermost first. */
function ancestorsOf(id: string, parents: ReadonlyMap<string, string>): Map<string, string> {
  const ancestors = new Map<string, string>();
  let current = id;
  for (;;) {
    const scope = parents.get(current);
    if (scope === undefined) return ancestors;
    ancestors.set(scope, current);
    if (scope === "") return ancestors;
    current = frameId(scope);
  }
}

type Placed = { layouts: ReadonlyMap<string, { ways: Point[][] }>; corners: ReadonlyMap<string, Point>; rects: ReadonlyMap<string, Rect> };

function wayOfRoute(route: Route | null, link: { source: string; target: string } | undefined, { layouts, corners, rects }: Placed): Point[] {
  const corner = route && corners.get(route.scope);
  const way = route && layouts.get(route.scope)?.ways[route.flow];
  if (!route || !corner || !way || !link) return [];
  const moved = way.map((point) => ({ x: point.x + corner.x, y: point.y + corner.y }));
  if (route.isWhole) return moved;
  const source = rects.get(link.source);
  const target = rects.get(link.target);
  const begin = source && { x: source.x + source.width / 2, y: source.y + source.height };
  const end = target && { x: target.x + target.width / 2, y: target.y };
  return [...(begin ? [begin] : []), ...moved, ...(end ? [end] : [])];
}

/** A smooth line: down out of a box, down into the next. */
export function curvePath(way: readonly Point[]): string {
  const [first, ...rest] = way;
  if (!first) return "";
  let path = `M${pointText(first)}`;
  let before = first;
  for (const point of rest) {
    if (Math.abs(point.x - before.x) < 0.5) path += `L${pointText(point)}`;
    else {
      const bend = Math.max(10, Math.abs(point.y - before.y) / 2);
      path += `C${pointText({ x: before.x, y: before.y + bend })} ${pointText({ x: point.x, y: point.y - bend })} ${pointText(point)}`;
    }
    before = point;
  }
  return path;
}

/** The head of its arrow, in the direction of its end. */
export function arrowPath(way: readonly Point[]): string {
  const [before, end] = way.slice(-2);
  if (!before || !end) return "";
  const back = end.y >= before.y ? -7 : 7;
  return `M${pointText(end)}L${pointText({ x: end.x - 4, y: end.y + back })}L${pointText({ x: end.x + 4, y: end.y + back })}Z`;
}

const pointText = (point: Point): string => `${Math.round(point.x * 10) / 10},${Math.round(point.y * 10) / 10}`;
