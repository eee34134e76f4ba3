import type { Drawing } from "@/charts/Drawn";
import { kindColor, kindOf } from "@/charts/kinds";
import { escapeHtml } from "@/charts/profileBars";
import { sliceText, type Slice } from "@/charts/profileRows";
import { percent } from "@/format/numbers";

/** Area is time, hue the kind of work; operators hold their nodes. */
export function drawTreemap(operators: readonly Slice[], nodes: readonly Slice[]): Drawing {
  return ({ isDark, ink, paper }) => ({
    tooltip: { confine: true, formatter: tooltipOf([...operators, ...nodes]) },
    series: [
      {
        type: "treemap",
        name: "All of a call",
        top: 4,
        left: 4,
        right: 4,
        bottom: 36,
        roam: false,
        nodeClick: "zoomToNode",
        visibleMin: 40,
        breadcrumb: { bottom: 4, itemStyle: { color: isDark ? "#3a4149" : "#e9ecef", textStyle: { color: ink } } },
        label: { show: true, color: isDark ? "#101214" : "#ffffff", fontSize: 12, overflow: "truncate" },
        upperLabel: { show: true, height: 22, color: ink, backgroundColor: paper, formatter: ({ name }: { name: string }) => name },
        itemStyle: { borderColor: paper, borderWidth: 1, gapWidth: 1 },
        levels: [{ upperLabel: { show: false } }, { itemStyle: { borderWidth: 2, gapWidth: 2 } }, {}],
        data: operators.map((operator) => ({
          name: operator.name,
          value: operator.ms,
          itemStyle: { color: fillOf(operator.op, isDark) },
          children: nodes
            .filter((node) => node.op === operator.op)
            .map((node) => ({ name: node.name, value: node.ms, itemStyle: { color: fillOf(node.op, isDark) } })),
        })),
      },
    ],
  });
}

// Dark enough for white words in light, light enough for dark ones in dark.
function fillOf(op: string, isDark: boolean): string {
  const color = kindColor(kindOf(op), isDark);
  return isDark ? color : (DEEPER[color] ?? color);
}
const DEEPER: Record<string, string> = { "#009E73": "#00775a", "#D55E00": "#b34e00", "#B8860B": "#86620a", "#56A4D8": "#2f78a8" };

function tooltipOf(slices: readonly Slice[]): (params: unknown) => string {
  return (params) => {
    const name = typeof params === "object" && params !== null && "name" in params && typeof params.name === "string" ? params.name : "";
    const slice = slices.find((slice) => slice.name === name);
    return slice ? `${escapeHtml(slice.name)}<br>${sliceText(slice)}, ${percent(slice.share, 1)} of a call` : escapeHtml(name);
  };
}
