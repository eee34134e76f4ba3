import { describe, expect, test } from "vitest";

import { arrange, frameId, type Rect } from "@/features/graph/arrange";
import { layoutLayers, type Flow, type Sized } from "@/features/graph/layered";

const box = (id: string, width = 100, height = 40): Sized => ({ id, width, height });
const flow = (source: string, target: string): Flow => ({ source, target });

function overlaps(rects: readonly Rect[]): number {
  let overlapping = 0;
  rects.forEach((a, i) =>
    rects.slice(i + 1).forEach((b) => {
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) overlapping += 1;
    }),
  );
  return overlapping;
}

/** A tree whose branches also skip ahead: wide, deep and tangled. */
function tangle(count: number): { boxes: Sized[]; flows: Flow[] } {
  const boxes = Array.from({ length: count }, (_, i) => box(`n${i}`, 60 + ((i * 37) % 120), 30 + ((i * 13) % 20)));
  const flows = boxes.slice(1).flatMap((_, i) => [flow(`n${Math.floor(i / 3)}`, `n${i + 1}`), ...(i > 9 ? [flow(`n${Math.floor(i / 5)}`, `n${i + 1}`)] : [])]);
  return { boxes, flows };
}

describe("a layered drawing", () => {
  test("leads a chain straight down", () => {
    const { places, ways } = layoutLayers([box("a"), box("b", 60), box("c")], [flow("a", "b"), flow("b", "c")]);
    expect([places.get("a")!.x + 50, places.get("b")!.x + 30, places.get("c")!.x + 50]).toEqual([50, 50, 50]);
    expect(places.get("a")!.y + 40).toBeLessThan(places.get("b")!.y);
    expect(ways[0]).toEqual([
      { x: 50, y: 40 },
      { x: 50, y: places.get("b")!.y },
    ]);
  });
  test("leads an edge that skips a box around it", () => {
    const { places, ways } = layoutLayers([box("a"), box("b"), box("c")], [flow("a", "b"), flow("b", "c"), flow("a", "c")]);
    const b = places.get("b")!;
    const passing = ways[2]!.filter((point) => point.y >= b.y && point.y <= b.y + 40);
    expect(passing.length).toBeGreaterThan(0);
    expect(passing.every((point) => point.x <= b.x || point.x >= b.x + 100)).toBe(true);
  });
  test("ends where groups feed each other in a circle", () => {
    const { places, ways } = layoutLayers([box("a"), box("b")], [flow("a", "b"), flow("b", "a"), flow("a", "a")]);
    expect(places.get("a")!.y).toBeLessThan(places.get("b")!.y);
    expect(ways[1]![0]!.y).toBeGreaterThan(ways[1]![1]!.y);
    expect(ways[2]).toEqual([]);
  });
  test("lets no box touch another", () => {
    const { boxes, flows } = tangle(400);
    const { places } = layoutLayers(boxes, flows);
    expect(overlaps(boxes.map((box) => ({ ...places.get(box.id)!, width: box.width, height: box.height })))).toBe(0);
  });
  test("puts what nothing feeds beside who takes it", () => {
    const { places } = layoutLayers([box("a"), box("b"), box("c"), box("weight")], [flow("a", "b"), flow("b", "c"), flow("weight", "c")]);
    expect(places.get("weight")!.y).toBe(places.get("b")!.y);
  });
});

describe("open groups", () => {
  const sized = (id: string, parent: string) => ({ ...box(id), parent });
  const frame = (scope: string) => ({ scope, width: 80, height: 24 });
  const inside = (outer: Rect, inner: Rect): boolean =>
    inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;

  test("hold what is in them, however deep", () => {
    const { rects, ways } = arrange({
      boxes: [sized("node:x", ""), sized("node:a/b/1", "a/b"), sized("node:a/b/2", "a/b"), sized("node:a/3", "a"), sized("node:y", "")],
      frames: [frame("a"), frame("a/b")],
      links: [
        { source: "node:x", target: "node:a/b/1" },
        { source: "node:a/b/1", target: "node:a/b/2" },
        { source: "node:a/b/2", target: "node:a/3" },
        { source: "node:a/3", target: "node:y" },
      ],
    });
    const [outer, inner] = [rects.get(frameId("a"))!, rects.get(frameId("a/b"))!];
    expect(inside(outer, inner) && inside(inner, rects.get("node:a/b/1")!) && inside(outer, rects.get("node:a/3")!)).toBe(true);
    expect(overlaps([rects.get("node:x")!, outer, rects.get("node:y")!])).toBe(0);
    const [first] = ways;
    const target = rects.get("node:a/b/1")!;
    expect(first![first!.length - 1]).toEqual({ x: target.x + target.width / 2, y: target.y });
  });
  test("stay as they are inside when another one opens", () => {
    const links = [
      { source: "node:a/1", target: "node:a/2" },
      { source: "node:a/2", target: "group:b" },
    ];
    const before = arrange({ boxes: [sized("node:a/1", "a"), sized("node:a/2", "a"), sized("group:b", "")], frames: [frame("a")], links });
    const after = arrange({
      boxes: [sized("node:a/1", "a"), sized("node:a/2", "a"), ...Array.from({ length: 200 }, (_, i) => sized(`node:b/${i}`, "b"))],
      frames: [frame("a"), frame("b")],
      links: [links[0]!, { source: "node:a/2", target: "node:b/0" }],
    });
    const apart = ({ rects }: typeof before) => rects.get("node:a/2")!.y - rects.get("node:a/1")!.y;
    expect(apart(after)).toBe(apart(before));
  });
});
