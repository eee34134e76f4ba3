import { Panel, useReactFlow, useStore } from "@xyflow/react";
import { useEffect, useRef, type PointerEvent } from "react";

import type { Scene } from "@/features/graph/scene";

const WIDTH = 150;
const HEIGHT = 110;

/** The whole graph, small, with the visible part. It is one picture, so thousands of boxes cost nothing. */
export function Overview({ scene, isDark }: { scene: Scene; isDark: boolean }) {
  const paper = useRef<HTMLCanvasElement>(null);
  const flow = useReactFlow();
  const [x, y, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const scale = Math.min(WIDTH / Math.max(1, scene.width), HEIGHT / Math.max(1, scene.height));
  const left = (WIDTH - scene.width * scale) / 2;
  const top = (HEIGHT - scene.height * scale) / 2;
  useEffect(() => {
    const canvas = paper.current;
    const pen = canvas?.getContext("2d");
    if (!canvas || !pen) return;
    const dense = window.devicePixelRatio || 1;
    canvas.width = WIDTH * dense;
    canvas.height = HEIGHT * dense;
    pen.scale(dense, dense);
    pen.fillStyle = isDark ? "#8b96a3" : "#7a8490";
    for (const box of scene.boxes) {
      const rect = scene.rects.get(box.id);
      if (rect) pen.fillRect(left + rect.x * scale, top + rect.y * scale, Math.max(1, rect.width * scale), Math.max(1, rect.height * scale));
    }
  }, [scene, isDark, left, top, scale]);
  const go = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons === 0) return;
    const bounds = event.currentTarget.getBoundingClientRect();
    void flow.setCenter((event.clientX - bounds.left - left) / scale, (event.clientY - bounds.top - top) / scale, { zoom });
  };
  const viewport = {
    left: Math.max(0, left + (-x / zoom) * scale),
    top: Math.max(0, top + (-y / zoom) * scale),
    right: Math.min(WIDTH, left + ((width - x) / zoom) * scale),
    bottom: Math.min(HEIGHT, top + ((height - y) / zoom) * scale),
  };
  return (
    <Panel position="bottom-right" className="graph-overview" onPointerDown={go} onPointerMove={go} aria-hidden data-testid="overview">
      <canvas ref={paper} style={{ display: "block", width: WIDTH, height: HEIGHT }} />
      <div
        className="graph-viewport"
        style={{
          left: viewport.left,
          top: viewport.top,
          width: Math.max(4, viewport.right - viewport.left),
          height: Math.max(4, viewport.bottom - viewport.top),
        }}
      />
    </Panel>
  );
}
