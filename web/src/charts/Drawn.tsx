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
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  useEffect(() => {
    if (!container.current) return;
    const instance = init(container.current, null, { renderer: "svg" });
    chart.current = instance;
    const observer = new ResizeObserver(() => instance.resize());
    observer.observe(container.current);
    return () => {
      observer.disconnect();
      instance.dispose();
    };
  }, []);
  useEffect(() => {
    chart.current?.setOption(withoutHidden(hidden, themedOptions(draw, isDark)), { notMerge: true });
  }, [draw, isDark, hidden]);
  useImperativeHandle(saver, (): Saver => (format, name) => save(format, name, title, draw, height), [draw, height, title]);
  const onPick = useEffectEvent((name: string) => pick?.(name));
  useEffect(() => {
    // A mark has a name, a label of an axis only a value.
    chart.current?.on("click", (event) => {
      const name = event.componentType === "yAxis" && typeof event.value === "string" ? event.value : event.name;
      if (name) onPick(name);
    });
  }, []);
  return <div ref={container} style={{ height, width: "100%" }} />;
}

function themedOptions(draw: Drawing, isDark: boolean): EChartsCoreOption {
  const theme = isDark
    ? { isDark, ink: "#e4e7ea", dim: "#a3adb8", line: "#3a4149", paper: "#242424" }
    : { isDark, ink: "#1c2024", dim: "#5b6470", line: "#d9dde2", paper: "#ffffff" };
  return { animation: false, textStyle: { color: theme.ink, fontFamily: "system-ui, sans-serif" }, ...draw(theme) };
}

/** The page has its own legend as text, which wraps on narrow screens and is accessible. */
function withoutHidden(hidden: ReadonlySet<string>, option: EChartsCoreOption): EChartsCoreOption {
  if (!isPlain(option.legend)) return option;
  return { ...option, legend: { ...option.legend, show: false, selected: Object.fromEntries([...hidden].map((name) => [name, false])) } };
}

const HEADER_PX = 60; // pixels for a title and a legend

/** Always light, with its title and legend: what is pasted elsewhere stands alone, and on white. */
function save(format: "png" | "svg", name: string, title: string, draw: Drawing, height: number): void {
  const container = document.createElement("div");
  const instance = init(container, null, { renderer: format === "svg" ? "svg" : "canvas", width: 900, height: height + HEADER_PX, devicePixelRatio: 2 });
  const caption = `${title} · ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const options = themedOptions(draw, false);
  instance.setOption({
    ...options,
    ...(isPlain(options.grid) ? { grid: { ...options.grid, top: HEADER_PX + (typeof options.grid.top === "number" ? options.grid.top : 0) } } : {}),
    ...(isPlain(options.legend) ? { legend: { ...options.legend, top: 30, left: 8 } } : {}),
    title: { text: caption, left: 8, top: 6, textStyle: { fontSize: 14, fontWeight: 600 } },
    aria: { enabled: true, label: { description: caption } },
    animation: false,
    backgroundColor: "#ffffff",
  });
  if (format === "svg") saveText(`${name}.svg`, instance.renderToSVGString(), "image/svg+xml");
  else saveAddress(`${name}.png`, instance.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: "#ffffff" }));
  instance.dispose();
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
