import { BarChart, CustomChart, LineChart, ScatterChart, TreemapChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use as register, type EChartsType, type EChartsCoreOption } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { useEffect, useEffectEvent, useImperativeHandle, useRef, type RefObject } from "react";

import { saveAddress, saveText } from "@/charts/saving";

register([
  BarChart,
  CustomChart,
  LineChart,
  ScatterChart,
  TreemapChart,
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  LabelLayout,
  CanvasRenderer,
  SVGRenderer,
]);

export type Drawing = (theme: { isDark: boolean; ink: string; dim: string; line: string; paper: string }) => EChartsCoreOption;
export type Saver = (format: "png" | "svg", name: string) => void;

type Props = {
  draw: Drawing;
  isDark: boolean;
  height: number;
  title: string;
  hidden: ReadonlySet<string>;
  saver: RefObject<Saver | null>;
  pick?: (name: string) => void;
};

export function Drawn({ draw, isDark, height, title, hidden, saver, pick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  useEffect(() => {
    if (!place.current) return;
    const made = init(place.current, null, { renderer: "svg" });
    chart.current = made;
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      made.dispose();
    };
  }, []);
  useEffect(() => {
    chart.current?.setOption(without(hidden, themed(draw, isDark)), { notMerge: true });
  }, [draw, isDark, hidden]);
  useImperativeHandle(saver, (): Saver => (format, name) => save(format, name, title, draw, height), [draw, height, title]);
  const onPick = useEffectEvent((name: string) => pick?.(name));
  useEffect(() => {
    // A mark says its name, a label of an axis its value.
    chart.current?.on("click", (event) => {
      const name = event.componentType === "yAxis" && typeof event.value === "string" ? event.value : event.name;
      if (name) onPick(name);
    });
  }, []);
  return <div ref={place} style={{ height, width: "100%" }} />;
}

function themed(draw: Drawing, isDark: boolean): EChartsCoreOption {
  const theme = isDark
    ? { isDark, ink: "#e4e7ea", dim: "#a3adb8", line: "#3a4149", paper: "#242424" }
    : { isDark, ink: "#1c2024", dim: "#5b6470", line: "#d9dde2", paper: "#ffffff" };
  return { animation: false, textStyle: { color: theme.ink, fontFamily: "system-ui, sans-serif" }, ...draw(theme) };
}

/** Its legend is beside it, as words of the page: those wrap where it is narrow, and everybody can read them. */
function without(hidden: ReadonlySet<string>, option: EChartsCoreOption): EChartsCoreOption {
  if (!isPlain(option.legend)) return option;
  return { ...option, legend: { ...option.legend, show: false, selected: Object.fromEntries([...hidden].map((name) => [name, false])) } };
}

const ABOVE = 60; // pixels for a title and a legend

/** Always light, with its title and legend: what is pasted elsewhere stands alone, and on white. */
function save(format: "png" | "svg", name: string, title: string, draw: Drawing, height: number): void {
  const place = document.createElement("div");
  const made = init(place, null, { renderer: format === "svg" ? "svg" : "canvas", width: 900, height: height + ABOVE, devicePixelRatio: 2 });
  const caption = `${title} · ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const drawn = themed(draw, false);
  made.setOption({
    ...drawn,
    ...(isPlain(drawn.grid) ? { grid: { ...drawn.grid, top: ABOVE + (typeof drawn.grid.top === "number" ? drawn.grid.top : 0) } } : {}),
    ...(isPlain(drawn.legend) ? { legend: { ...drawn.legend, top: 30, left: 8 } } : {}),
    title: { text: caption, left: 8, top: 6, textStyle: { fontSize: 14, fontWeight: 600 } },
    aria: { enabled: true, label: { description: caption } },
    animation: false,
    backgroundColor: "#ffffff",
  });
  if (format === "svg") saveText(`${name}.svg`, made.renderToSVGString(), "image/svg+xml");
  else saveAddress(`${name}.png`, made.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: "#ffffff" }));
  made.dispose();
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
