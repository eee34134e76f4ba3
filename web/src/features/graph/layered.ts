/** A layered drawing of a directed graph, top to bottom, in milliseconds: data flows down.
 *
 * The usual four steps: layers by the longest way from a start, an order within each layer that crosses few edges, places
 * that keep edges straight, and long edges led between boxes. docs/decisions/0019-graph-layout.md says why it is ours.
 */

export type Sized = { id: string; width: number; height: number };
export type Flow = { source: string; target: string };
export type Point = { x: number; y: number };
export type LayeredDrawing = {
  /** The upper left corner of each box. */
  places: Map<string, Point>;
  /** Of each flow, in order: where it leaves, passes and arrives. */
  ways: Point[][];
  width: number;
  height: number;
};

const BESIDE = 28; // between two boxes
const BELOW = 36; // between two layers
const LANE = 14; // the width of an edge that passes a layer
const SWEEPS = 8;
const MOST_PASSAGES = 20_000; // beyond, long edges cut across

/** A spot in a layer: a box, or an edge that passes. */
type Spot = { width: number; height: number; layer: number; order: number; x: number; up: number[]; down: number[]; box: string | null };

export function layoutLayers(boxes: readonly Sized[], flows: readonly Flow[]): LayeredDrawing {
  const spots: Spot[] = boxes.map((box) => spot(box.width, box.height, box.id));
  const place = new Map(boxes.map((box, index) => [box.id, index]));
  const ends = flows.map(({ source, target }) => ({ from: place.get(source) ?? -1, to: place.get(target) ?? -1 }));
  const isBack = backwards(spots.length, ends);
  const arcs = ends.map((end, index) => (isBack[index] ? { from: end.to, to: end.from } : end)).map((arc) => (isReal(arc) ? arc : null));
  rank(spots, arcs);
  const chains = addPassages(spots, arcs);
  const layers = order(spots);
  settle(spots, layers);
  return placeSpots(spots, layers, chains, isBack);
}

function spot(width: number, height: number, box: string | null): Spot {
  return { width, height, layer: 0, order: 0, x: 0, up: [], down: [], box };
}

type Arc = { from: number; to: number };
const isReal = (arc: Arc): boolean => arc.from >= 0 && arc.to >= 0 && arc.from !== arc.to;

/** Which flows must be turned around so that nothing goes in circles: closed groups may feed each other. */
function backwards(count: number, ends: readonly Arc[]): boolean[] {
  const out: number[][] = Array.from({ length: count }, () => []);
  const starts = new Array<boolean>(count).fill(true);
  ends.forEach((end, index) => {
    if (!isReal(end)) return;
    out[end.from]?.push(index);
    starts[end.to] = false;
  });
  const state = new Uint8Array(count); // 1: on the way, 2: done
  const isBack = new Array<boolean>(ends.length).fill(false);
  const visit = (root: number): void => {
    const way: { at: number; next: number }[] = [{ at: root, next: 0 }];
    state[root] = 1;
    while (way.length > 0) {
      const here = way[way.length - 1]!;
      const index = out[here.at]?.[here.next++];
      if (index === undefined) {
        state[here.at] = 2;
        way.pop();
        continue;
      }
      const to = ends[index]!.to;
      if (state[to] === 1) isBack[index] = true;
      else if (state[to] === 0) {
        state[to] = 1;
        way.push({ at: to, next: 0 });
      }
    }
  };
  for (let at = 0; at < count; at += 1) if (starts[at] && state[at] === 0) visit(at);
  for (let at = 0; at < count; at += 1) if (state[at] === 0) visit(at);
  return isBack;
}

/** Layers: as far down as the longest way to it; what nothing feeds stands just above who takes it. */
function rank(spots: Spot[], arcs: readonly (Arc | null)[]): void {
  const down: number[][] = spots.map(() => []);
  const waits = new Int32Array(spots.length);
  for (const arc of arcs) {
    if (!arc) continue;
    down[arc.from]!.push(arc.to);
    waits[arc.to]! += 1;
  }
  const fed = waits.map((n) => (n > 0 ? 1 : 0));
  const ready = spots.map((_, index) => index).filter((index) => waits[index] === 0);
  for (let at = 0; at < ready.length; at += 1) {
    const from = ready[at]!;
    for (const to of down[from]!) {
      spots[to]!.layer = Math.max(spots[to]!.layer, spots[from]!.layer + 1);
      waits[to]! -= 1;
      if (waits[to] === 0) ready.push(to);
    }
  }
  spots.forEach((spot, index) => {
    if (fed[index] || down[index]!.length === 0) return;
    spot.layer = Math.min(...down[index]!.map((to) => spots[to]!.layer)) - 1;
  });
}

/** Edges over several layers pass each of them at a spot of their own. Returns the spots on each way. */
function addPassages(spots: Spot[], arcs: readonly (Arc | null)[]): (number[] | null)[] {
  let left = MOST_PASSAGES;
  return arcs.map((arc) => {
    if (!arc) return null;
    const chain = [arc.from];
    const first = spots[arc.from]!.layer;
    const last = spots[arc.to]!.layer;
    if (last - first - 1 <= left) {
      left -= last - first - 1;
      for (let layer = first + 1; layer < last; layer += 1) {
        const passage = spot(LANE, 0, null);
        passage.layer = layer;
        chain.push(spots.length);
        spots.push(passage);
      }
    }
    chain.push(arc.to);
    if (last - first === 1 || chain.length > 2) {
      for (let at = 1; at < chain.length; at += 1) {
        spots[chain[at - 1]!]!.down.push(chain[at]!);
        spots[chain[at]!]!.up.push(chain[at - 1]!);
      }
    }
    return chain;
  });
}

/** Layers, each in an order that crosses few edges: everything near the middle of what it is tied to. */
function order(spots: Spot[]): number[][] {
  const layers: number[][] = [];
  const visited = new Uint8Array(spots.length);
  // Depth first from the top keeps what belongs together beside each other.
  const take = (root: number): void => {
    const way = [root];
    while (way.length > 0) {
      const at = way.pop()!;
      if (visited[at]) continue;
      visited[at] = 1;
      const spot = spots[at]!;
      (layers[spot.layer] ??= []).push(at);
      for (let i = spot.down.length - 1; i >= 0; i -= 1) if (!visited[spot.down[i]!]) way.push(spot.down[i]!);
    }
  };
  spots.forEach((spot, index) => spot.up.length === 0 && take(index));
  spots.forEach((_, index) => take(index));
  for (let layer = 0; layer < layers.length; layer += 1) number(spots, (layers[layer] ??= []));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (let i = 1; i < layers.length; i += 1) {
      const layer = layers[isDown ? i : layers.length - 1 - i]!;
      const wish = new Map(layer.map((at) => [at, middle(spots, isDown ? spots[at]!.up : spots[at]!.down) ?? spots[at]!.order]));
      layer.sort((a, b) => wish.get(a)! - wish.get(b)! || spots[a]!.order - spots[b]!.order);
      number(spots, layer);
    }
  }
  return layers;
}

function number(spots: Spot[], layer: readonly number[]): void {
  layer.forEach((at, order) => (spots[at]!.order = order));
}

function middle(spots: readonly Spot[], tied: readonly number[]): number | null {
  if (tied.length === 0) return null;
  let sum = 0;
  for (const at of tied) sum += spots[at]!.order;
  return sum / tied.length;
}

/** Places within layers: each as near as it can be to the middle of what it is tied to, in order and without touching. */
function settle(spots: Spot[], layers: readonly number[][]): void {
  for (const layer of layers) {
    let x = 0;
    for (const at of layer) {
      const spot = spots[at]!;
      spot.x = x + spot.width / 2;
      x += spot.width + BESIDE;
    }
    for (const at of layer) spots[at]!.x -= (x - BESIDE) / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (let i = 0; i < layers.length; i += 1) {
      const layer = layers[isDown ? i : layers.length - 1 - i]!;
      // The last sweeps look both ways, so that neither end pulls an edge askew.
      const isBoth = sweep >= SWEEPS - 2;
      pull(spots, layer, isBoth ? "both" : isDown ? "up" : "down");
    }
  }
}

/** The nearest places to the preferred ones that keep order and distance: pooled if they would push each other. */
function pull(spots: Spot[], layer: readonly number[], towards: "up" | "down" | "both"): void {
  let offset = 0;
  let before: Spot | null = null;
  const pools: { wish: number; weight: number; from: number; to: number }[] = [];
  const offsets: number[] = [];
  layer.forEach((at, index) => {
    const spot = spots[at]!;
    if (before) offset += (before.width + spot.width) / 2 + (before.box && spot.box ? BESIDE : LANE);
    before = spot;
    offsets.push(offset);
    const tied = towards === "up" ? spot.up : towards === "down" ? spot.down : [...spot.up, ...spot.down];
    let sum = 0;
    let ties = 0;
    for (const other of tied) {
      // Boxes stand in line with boxes and passages with passages: what passes goes around, and pushes nothing aside.
      const tie = (spot.box === null) === (spots[other]!.box === null) ? 1 : 0.1;
      sum += spots[other]!.x * tie;
      ties += tie;
    }
    const wish = ties > 0 ? sum / ties : spot.x;
    const weight = tied.length === 0 ? 0.1 : spot.box ? 6 : 1;
    pools.push({ wish: wish - offset, weight, from: index, to: index });
    while (pools.length > 1 && pools[pools.length - 2]!.wish > pools[pools.length - 1]!.wish) {
      const last = pools.pop()!;
      const first = pools[pools.length - 1]!;
      first.wish = (first.wish * first.weight + last.wish * last.weight) / (first.weight + last.weight);
      first.weight += last.weight;
      first.to = last.to;
    }
  });
  for (const pool of pools) for (let index = pool.from; index <= pool.to; index += 1) spots[layer[index]!]!.x = pool.wish + offsets[index]!;
}

function placeSpots(spots: readonly Spot[], layers: readonly number[][], chains: readonly (number[] | null)[], isBack: readonly boolean[]): LayeredDrawing {
  let left = Infinity;
  let right = -Infinity;
  for (const spot of spots) {
    left = Math.min(left, spot.x - spot.width / 2);
    right = Math.max(right, spot.x + spot.width / 2);
  }
  const tops: number[] = [];
  const heights: number[] = [];
  let y = 0;
  layers.forEach((layer, index) => {
    tops[index] = y;
    heights[index] = layer.reduce((most, at) => Math.max(most, spots[at]!.height), 0);
    y += heights[index] + BELOW;
  });
  const places = new Map<string, Point>();
  const top = (spot: Spot): number => tops[spot.layer]! + (heights[spot.layer]! - spot.height) / 2;
  for (const spot of spots) if (spot.box !== null) places.set(spot.box, { x: spot.x - spot.width / 2 - left, y: top(spot) });
  const ways = chains.map((chain, index) => {
    if (!chain) return [];
    const way = chain.flatMap((at, index): Point[] => {
      const spot = spots[at]!;
      const x = spot.x - left;
      if (index === 0) return [{ x, y: top(spot) + spot.height }];
      if (index === chain.length - 1) return [{ x, y: top(spot) }];
      return [
        { x, y: tops[spot.layer]! },
        { x, y: tops[spot.layer]! + heights[spot.layer]! },
      ];
    });
    return isBack[index] ? way.reverse() : way;
  });
  return { places, ways, width: Math.max(0, right - left), height: Math.max(0, y - BELOW) };
}
