import { layered, type Flow, type Point } from "@/features/graph/layered";

/** What there is to place: boxes with their sizes, and open groups with the size of their heads. */
export type ToPlace = {
  boxes: readonly { id: string; parent: string; width: number; height: number }[];
  frames: readonly { scope: string; width: number; height: number }[];
  links: readonly { source: string; target: string }[];
};
export type Rect = Point & { width: number; height: number };
export type Arranged = {
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

type Level = { members: { id: string; width: number; height: number }[]; flows: Flow[]; known: Map<string, number> };

/** Each open group by itself, the innermost first: opening one changes nothing inside the others. */
export function arrange({ boxes, frames, links }: ToPlace): Arranged {
  const parents = new Map<string, string>(); // of boxes and frames: the scope around them
  for (const frame of frames) parents.set(frameId(frame.scope), scopeAround(frame.scope));
  for (const box of boxes) parents.set(box.id, box.parent);
  const levels = new Map<string, Level>([["", { members: [], flows: [], known: new Map() }]]);
  for (const frame of frames) levels.set(frame.scope, { members: [], flows: [], known: new Map() });
  for (const box of boxes) levels.get(box.parent)?.members.push(box);

  const routes = links.map((link) => route(link, parents, levels));
  const laid = new Map<string, ReturnType<typeof layered>>();
  const inside = new Map<string, Point>(); // where the members of a frame begin
  const innermostFirst = [...frames].sort((a, b) => depth(b.scope) - depth(a.scope));
  for (const frame of innermostFirst) {
    const level = levels.get(frame.scope);
    if (!level) continue;
    const found = layered(level.members, level.flows);
    laid.set(frame.scope, found);
    const width = Math.max(found.width, frame.width) + 2 * INSIDE;
    const top = frame.height + HEAD;
    inside.set(frame.scope, { x: (width - found.width) / 2, y: top });
    levels.get(scopeAround(frame.scope))?.members.push({ id: frameId(frame.scope), width, height: top + found.height + INSIDE });
  }
  const root = levels.get("");
  const whole = layered(root?.members ?? [], root?.flows ?? []);
  laid.set("", whole);

  const rects = new Map<string, Rect>();
  const corners = new Map<string, Point>([["", { x: 0, y: 0 }]]);
  for (const scope of ["", ...frames.map((frame) => frame.scope).sort((a, b) => depth(a) - depth(b))]) {
    if (scope !== "") {
      const frame = rects.get(frameId(scope));
      const begin = inside.get(scope);
      if (frame && begin) corners.set(scope, { x: frame.x + begin.x, y: frame.y + begin.y });
    }
    const corner = corners.get(scope);
    const found = laid.get(scope);
    for (const member of levels.get(scope)?.members ?? []) {
      const place = found?.places.get(member.id);
      if (place && corner) rects.set(member.id, { x: corner.x + place.x, y: corner.y + place.y, width: member.width, height: member.height });
    }
  }
  const ways = routes.map((found, index) => wayOf(found, links[index], { laid, corners, rects }));
  return { rects, ways, width: whole.width, height: whole.height };
}

const depth = (scope: string): number => (scope === "" ? 0 : scope.split("/").length);

type Route = { scope: string; flow: number; isWhole: boolean };

/** The level on which a link is led: the innermost open group that holds both of its ends. */
function route(link: { source: string; target: string }, parents: ReadonlyMap<string, string>, levels: ReadonlyMap<string, Level>): Route | null {
  const from = climb(link.source, parents);
  const to = climb(link.target, parents);
  for (const [scope, source] of from) {
    const target = to.get(scope);
    const level = levels.get(scope);
    if (target === undefined || !level) continue;
    const key = `${source}\n${target}`;
    let flow = level.known.get(key);
    if (flow === undefined) {
      flow = level.flows.push({ source, target }) - 1;
      level.known.set(key, flow);
    }
    return { scope, flow, isWhole: source === link.source && target === link.target };
  }
  return null;
}

/** Who stands for a box on each level around it, the innermost first. */
function climb(id: string, parents: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, string>();
  let at = id;
  for (;;) {
    const scope = parents.get(at);
    if (scope === undefined) return found;
    found.set(scope, at);
    if (scope === "") return found;
    at = frameId(scope);
  }
}

type Placed = { laid: ReadonlyMap<string, { ways: Point[][] }>; corners: ReadonlyMap<string, Point>; rects: ReadonlyMap<string, Rect> };

function wayOf(found: Route | null, link: { source: string; target: string } | undefined, { laid, corners, rects }: Placed): Point[] {
  const corner = found && corners.get(found.scope);
  const way = found && laid.get(found.scope)?.ways[found.flow];
  if (!found || !corner || !way || !link) return [];
  const moved = way.map((point) => ({ x: point.x + corner.x, y: point.y + corner.y }));
  if (found.isWhole) return moved;
  const source = rects.get(link.source);
  const target = rects.get(link.target);
  const begin = source && { x: source.x + source.width / 2, y: source.y + source.height };
  const end = target && { x: target.x + target.width / 2, y: target.y };
  return [...(begin ? [begin] : []), ...moved, ...(end ? [end] : [])];
}

/** A smooth line: down out of a box, down into the next. */
export function curve(way: readonly Point[]): string {
  const [first, ...rest] = way;
  if (!first) return "";
  let path = `M${at(first)}`;
  let before = first;
  for (const point of rest) {
    if (Math.abs(point.x - before.x) < 0.5) path += `L${at(point)}`;
    else {
      const bend = Math.max(10, Math.abs(point.y - before.y) / 2);
      path += `C${at({ x: before.x, y: before.y + bend })} ${at({ x: point.x, y: point.y - bend })} ${at(point)}`;
    }
    before = point;
  }
  return path;
}

/** The head of its arrow, pointing the way it arrives. */
export function arrow(way: readonly Point[]): string {
  const [before, end] = way.slice(-2);
  if (!before || !end) return "";
  const back = end.y >= before.y ? -7 : 7;
  return `M${at(end)}L${at({ x: end.x - 4, y: end.y + back })}L${at({ x: end.x + 4, y: end.y + back })}Z`;
}

const at = (point: Point): string => `${Math.round(point.x * 10) / 10},${Math.round(point.y * 10) / 10}`;
