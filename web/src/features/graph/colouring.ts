import type { Box } from "@/api/parts";
import { kindColor, kindOf } from "@/charts/kinds";
import type { Times } from "@/features/graph/nodeTimes";
import { heatColor, mixColors } from "@/features/graph/paint";
import { msOf } from "@/features/graph/scene";

/** How a box looks; colour is never the only sign. */
export type Look = { fill: string; edge: string; mark: string };
export type Paint = (box: Box) => Look;

const page = (isDark: boolean) => (isDark ? { paper: "#242424", line: "#5b6470", group: "#2e3238" } : { paper: "#ffffff", line: "#9aa3ad", group: "#f1f3f5" });

export function byType(isDark: boolean): Paint {
  const { paper, line, group } = page(isDark);
  return (box) => {
    if (box.kind === "group") return { fill: group, edge: line, mark: line };
    if (box.kind !== "node") return { fill: paper, edge: line, mark: line };
    const color = kindColor(kindOf(box.op), isDark);
    return { fill: mixColors(color, paper, isDark ? 0.16 : 0.1), edge: line, mark: color };
  };
}

/** Nodes by the slowest of them, groups by the slowest group that is drawn. */
export function byTime(times: Times, boxes: readonly Box[], isDark: boolean): Paint {
  const { paper, line } = page(isDark);
  const most = Math.max(...boxes.map((box) => msOf(box.id, times) ?? 0), Number.MIN_VALUE);
  return (box) => {
    const ms = msOf(box.id, times);
    if (ms === null) return { fill: paper, edge: line, mark: line };
    const fill = heatColor(ms / most, isDark);
    return { fill, edge: line, mark: heatColor(1, isDark) };
  };
}
