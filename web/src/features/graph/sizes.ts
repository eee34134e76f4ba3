import type { Box } from "@/api/parts";
import type { ToPlace } from "@/features/graph/arrange";

/** The text in a box, and the size of the box: text is never cut off. */
export type Written = { title: string[]; name: string[]; width: number; height: number };
export type Measure = (text: string, font: string) => number;

export const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
export const TITLE_FONT = `600 13px ${FAMILY}`;
export const NAME_FONT = `400 12px ${FAMILY}`;
export const TITLE_LINE = 18;
export const NAME_LINE = 16;
export const PAD_X = 12;
export const PAD_Y = 7;
export const TOGGLE = 26; // the button of a group, with its gap
const LONGEST = 36; // characters of a line

/** Of a box: its operator and name, or its name and how much is in it. */
export function boxText(box: Pick<Box, "kind" | "label" | "op" | "nodes">, time: string | null, measure: Measure): Written {
  const suffix = time === null ? "" : ` · ${time}`;
  switch (box.kind) {
    case "node": {
      const isNamed = box.label !== box.op;
      return sized(splitLines(box.op), [...(isNamed ? splitLines(box.label) : []), ...(time === null ? [] : [time])], 0, measure);
    }
    case "group":
      return sized(splitLines(box.label), [`${box.nodes} ops${suffix}`], TOGGLE, measure);
    case "input":
    case "output":
      return sized(splitLines(box.label), [box.kind], 0, measure);
    default:
      return box.kind satisfies never;
  }
}

function sized(title: string[], name: string[], beside: number, measure: Measure): Written {
  const wide = Math.max(...title.map((line) => measure(line, TITLE_FONT)), ...name.map((line) => measure(line, NAME_FONT)), 40);
  return {
    title,
    name,
    width: Math.ceil(wide) + 2 * PAD_X + beside + 4,
    height: title.length * TITLE_LINE + name.length * NAME_LINE + 2 * PAD_Y,
  };
}

/** A long name in lines, broken where its parts end. */
export function splitLines(text: string): string[] {
  if (text.length <= LONGEST) return [text];
  const lines: string[] = [];
  let line = "";
  for (const part of text.match(/[^_./:\-\s]*[_./:\-\s]?/g) ?? [text]) {
    if (line !== "" && line.length + part.length > LONGEST) {
      lines.push(line);
      line = "";
    }
    line += part;
    while (line.length > LONGEST) {
      lines.push(line.slice(0, LONGEST));
      line = line.slice(LONGEST);
    }
  }
  return line === "" ? lines : [...lines, line];
}

type View = { boxes: readonly Box[]; expanded: readonly string[]; groups: readonly { scope: string; nodes: number }[]; links: ToPlace["links"] };

/** Everything of a view with its text and size. */
export function layoutInput(view: View, timeOf: (id: string) => string | null, measure: Measure): { place: ToPlace; texts: Map<string, Written> } {
  const texts = new Map<string, Written>();
  const boxes = view.boxes.map((box) => {
    const text = boxText(box, timeOf(box.id), measure);
    texts.set(box.id, text);
    return { id: box.id, parent: box.parent, width: text.width, height: text.height };
  });
  const counts = new Map(view.groups.map((group) => [group.scope, group.nodes]));
  const frames = view.expanded.map((scope) => {
    const id = `group:${scope}`;
    const label = scope.slice(scope.lastIndexOf("/") + 1);
    const text = boxText({ kind: "group", label, op: "", nodes: counts.get(scope) ?? 0 }, timeOf(id), measure);
    texts.set(id, text);
    return { scope, width: text.width, height: text.height };
  });
  return { place: { boxes, frames, links: view.links }, texts };
}

let paper: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** By the browser's own fonts. */
export const measureOnCanvas: Measure = (text, font) => {
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    paper ??= document.createElement("canvas").getContext("2d");
    if (paper) paper.font = font;
    width = paper?.measureText(text).width ?? text.length * 8;
    widths.set(key, width);
  }
  return width;
};
