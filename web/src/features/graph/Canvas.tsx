import "@xyflow/react/dist/base.css";
import "@/features/graph/graph.css";

import { useComputedColorScheme } from "@mantine/core";
import { ReactFlow, ReactFlowProvider, useReactFlow, useStoreApi, type Node } from "@xyflow/react";
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";

import { frameId } from "@/features/graph/arrange";
import { BoxNode, FrameNode, HeadNode, type BoxNodeType, type FrameNodeType, type HeadNodeType } from "@/features/graph/BoxNode";
import { Links } from "@/features/graph/Links";
import { Overview } from "@/features/graph/Overview";
import type { Paint } from "@/features/graph/colouring";
import type { Scene } from "@/features/graph/scene";
import { nextBox, type Step } from "@/features/graph/walk";

export type View = { fit: () => void; show: (id: string) => void };

type Props = {
  label: string;
  scene: Scene;
  paint: Paint;
  selected: string | null;
  select: (id: string | null) => void;
  /** Opens a closed group, closes an open one. */
  toggle: (scope: string, isOpen: boolean) => void;
  /** The pointer or the keyboard is at a group: it may be opened next. */
  near: (scope: string) => void;
  /** What must keep its place on the screen in a new scene; reading it clears it. */
  takeSteady: () => string | null;
  view: RefObject<View | null>;
};

const NODE_TYPES = { box: BoxNode, frame: FrameNode, head: HeadNode };
const ARROWS: Record<string, Step> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const READABLE = 0.75; // the least zoom at which names can be read

export function Canvas(props: Props) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ label, scene, paint, selected, select, toggle, near, takeSteady, view }: Props) {
  const isDark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const flow = useReactFlow();
  const store = useStoreApi();
  const place = useRef<HTMLDivElement>(null);
  const nodes = useMemo(() => nodesOf(scene, paint, selected, { toggle, near }), [scene, paint, selected, toggle, near]);

  const fit = useCallback(() => {
    const { clientWidth: width = 800, clientHeight: height = 600 } = place.current ?? {};
    const zoom = Math.min(1, (width - 48) / Math.max(1, scene.width), (height - 48) / Math.max(1, scene.height));
    void flow.setViewport({ x: (width - scene.width * zoom) / 2, y: (height - scene.height * zoom) / 2, zoom });
  }, [flow, scene]);
  const [isReady, setReady] = useState(false);
  const early = useRef<string | null>(null); // requested before the scene was ready
  const show = useCallback(
    (id: string) => {
      const rect = scene.rects.get(id);
      if (!isReady) early.current = id;
      if (!rect || !isReady) return;
      const zoom = Math.max(READABLE, flow.getZoom());
      const { clientHeight: height = 600 } = place.current ?? {};
      const y = rect.height * zoom > height * 0.8 ? rect.y + height / 2 / zoom - 24 / zoom : rect.y + rect.height / 2;
      void flow.setCenter(rect.x + rect.width / 2, y, { zoom });
    },
    [flow, scene, isReady],
  );
  useImperativeHandle(view, () => ({ fit, show }), [fit, show]);
  useEffect(() => {
    if (!isReady || early.current === null) return;
    show(early.current);
    early.current = null;
  }, [isReady, show]);

  // The group that was opened, or else what is in the middle, keeps its place.
  const before = useRef<Scene | null>(null);
  useLayoutEffect(() => {
    const last = before.current;
    before.current = scene;
    if (last === null) return;
    const { transform, width, height } = store.getState();
    const [x, y, zoom] = transform;
    const centre = { x: (width / 2 - x) / zoom, y: (height / 2 - y) / zoom };
    const steady = takeSteady();
    const anchor = steady && last.rects.has(steady) && scene.rects.has(steady) ? steady : nearestTo(centre, last, scene);
    const was = anchor && last.rects.get(anchor);
    const is = anchor && scene.rects.get(anchor);
    if (!was || !is) return;
    void flow.setViewport({
      x: x + (was.x + was.width / 2 - is.x - is.width / 2) * zoom,
      y: y + (was.y - is.y) * zoom,
      zoom,
    });
  }, [scene, flow, store, takeSteady]);

  // When the window is resized or a phone is turned, the middle stays in the middle.
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let width = element.clientWidth;
    const observer = new ResizeObserver(() => {
      const moved = (element.clientWidth - width) / 2;
      width = element.clientWidth;
      const { x, y, zoom } = flow.getViewport();
      if (moved !== 0) void flow.setViewport({ x: x + moved, y, zoom });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [flow]);

  const keepInView = (id: string) => {
    const { transform, width, height } = store.getState();
    const [x, y, zoom] = transform;
    const rect = scene.rects.get(id);
    if (!rect) return;
    const [left, top] = [rect.x * zoom + x, rect.y * zoom + y];
    if (left < 0 || top < 0 || left + rect.width * zoom > width || top + 40 * zoom > height) show(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ARROWS[event.key];
    const scope = selected?.startsWith("group:") ? selected.slice(6) : null;
    if (step) {
      const to = selected === null ? (scene.boxes[0]?.id ?? null) : nextBox(selected, step, scene.links, boxRects(scene));
      if (to !== null) {
        select(to);
        keepInView(to);
        if (to.startsWith("group:")) near(to.slice(6));
      }
    } else if (event.key === "Enter" && scope !== null) toggle(scope, scene.frames.includes(scope));
    else if (event.key === "Backspace" && selected !== null) {
      const around = scope !== null && scene.frames.includes(scope) ? scope : scene.boxes.find((box) => box.id === selected)?.parent;
      if (around) toggle(around, true);
    } else if (event.key === "Escape") select(null);
    else if (event.key === "+" || event.key === "=") void flow.zoomIn();
    else if (event.key === "-") void flow.zoomOut();
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- an application handles keys: arrows move from node to node
    <div
      ref={place}
      className="graph-canvas"
      role="application"
      tabIndex={0}
      aria-label={label}
      aria-describedby="graph-keys"
      aria-keyshortcuts="ArrowUp ArrowDown ArrowLeft ArrowRight Enter Backspace"
      onKeyDown={onKeyDown}
    >
      <ReactFlow
        nodes={nodes}
        nodeTypes={NODE_TYPES}
        colorMode={isDark ? "dark" : "light"}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnDoubleClick={false}
        attributionPosition="bottom-left"
        minZoom={0.03}
        maxZoom={2}
        onInit={() => {
          showFirst(flow, scene, place.current);
          setReady(true);
        }}
        onNodeClick={(_, node) => select(node.id.replace(/^head:/, "group:"))}
        onNodeDoubleClick={(_, node) => /^(group|head):/.test(node.id) && toggle(node.id.slice(node.id.indexOf(":") + 1), node.type !== "box")}
        onPaneClick={() => select(null)}
      >
        <Links scene={scene} selected={selected} />
        <Overview scene={scene} isDark={isDark} />
      </ReactFlow>
    </div>
  );
}

/** The first view is readable: the whole graph if it fits, else its beginning. */
function showFirst(flow: ReturnType<typeof useReactFlow>, scene: Scene, place: HTMLElement | null): void {
  const { clientWidth: width = 800, clientHeight: height = 600 } = place ?? {};
  const whole = Math.min(1, (width - 48) / Math.max(1, scene.width), (height - 48) / Math.max(1, scene.height));
  const zoom = Math.max(whole, Math.min(READABLE, 1));
  const top = scene.boxes.map((box) => scene.rects.get(box.id)).reduce((best, rect) => (rect && (!best || rect.y < best.y) ? rect : best), undefined);
  const middle = scene.width * zoom > width && top ? top.x + top.width / 2 : scene.width / 2;
  const y = zoom > whole ? 24 : (height - scene.height * zoom) / 2;
  void flow.setViewport({ x: width / 2 - middle * zoom, y, zoom });
}

function nearestTo(centre: { x: number; y: number }, last: Scene, scene: Scene): string | null {
  let nearest: string | null = null;
  let least = Infinity;
  for (const box of last.boxes) {
    const rect = last.rects.get(box.id);
    if (!rect || !scene.rects.has(box.id)) continue;
    const far = Math.abs(rect.x + rect.width / 2 - centre.x) + Math.abs(rect.y + rect.height / 2 - centre.y);
    if (far < least) {
      least = far;
      nearest = box.id;
    }
  }
  return nearest;
}

/** Without frames: keys move from box to box. */
function boxRects(scene: Scene): Scene["rects"] {
  const open = new Set(scene.frames.map(frameId));
  return new Map([...scene.rects].filter(([id]) => !open.has(id)));
}

type NodeActions = Pick<Props, "toggle" | "near">;

function nodesOf(scene: Scene, paint: Paint, selected: string | null, actions: NodeActions): Node[] {
  const frames = scene.frames.map((scope, index): FrameNodeType => {
    const id = frameId(scope);
    return { ...placed(scene, id), id, type: "frame", zIndex: index - scene.frames.length - 1, data: { scope, isSelected: id === selected } };
  });
  const heads = scene.frames.map((scope): HeadNodeType => {
    const text = scene.texts.get(frameId(scope));
    const rect = scene.rects.get(frameId(scope));
    const size = { width: text?.width ?? 0, height: text?.height ?? 0 };
    const position = { x: rect ? rect.x + (rect.width - size.width) / 2 : 0, y: rect?.y ?? 0 };
    return { position, ...size, measured: size, id: `head:${scope}`, type: "head", zIndex: 2, data: { scope, text, ...actions } };
  });
  const boxes = scene.boxes.map((box): BoxNodeType => ({
    ...placed(scene, box.id),
    id: box.id,
    type: "box",
    zIndex: 1,
    data: { box, text: scene.texts.get(box.id), look: paint(box), isSelected: box.id === selected, ...actions },
  }));
  return [...frames, ...boxes, ...heads];
}

function placed(scene: Scene, id: string) {
  const { x, y, width, height } = scene.rects.get(id) ?? { x: 0, y: 0, width: 0, height: 0 };
  return {
    position: { x, y },
    width,
    height,
    measured: { width, height }, // given, so that nothing has to be measured on the page
  };
}
