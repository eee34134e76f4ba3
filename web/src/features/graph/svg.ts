import { arrowPath, curvePath, frameId } from "@/features/graph/arrange";
import type { Paint } from "@/features/graph/colouring";
import { FAMILY, NAME_LINE, PAD_Y, TITLE_LINE, type Written } from "@/features/graph/sizes";
import type { Scene } from "@/features/graph/scene";

const MARGIN = 24;

/** The whole scene as a picture of its own, on white: not only what is in view. */
export function sceneSvg(scene: Scene, paint: Paint, title: string): string {
  const width = Math.ceil(scene.width + 2 * MARGIN);
  const height = Math.ceil(scene.height + 2 * MARGIN);
  const frames = scene.frames.map((scope) => {
    const rect = scene.rects.get(frameId(scope));
    const text = scene.texts.get(frameId(scope));
    if (!rect) return "";
    return `<rect x="${rect.x}" y="${rect.y}" width="${rect.width}" height="${rect.height}" rx="8" fill="#0b7285" fill-opacity="0.04" stroke="#9aa3ad"/>${words(text, rect.x + rect.width / 2, rect.y)}`;
  });
  const links = scene.links.map(
    (link) => `<path d="${curvePath(link.way)}" fill="none" stroke="#8d97a2" stroke-width="1.4"/><path d="${arrowPath(link.way)}" fill="#8d97a2"/>`,
  );
  const boxes = scene.boxes.map((box) => {
    const rect = scene.rects.get(box.id);
    if (!rect) return "";
    const { fill, edge, mark } = paint(box);
    const round = box.kind === "input" || box.kind === "output" ? 22 : 6;
    const side = box.kind === "node" ? `<rect x="${rect.x}" y="${rect.y}" width="4" height="${rect.height}" fill="${mark}"/>` : "";
    return `<rect x="${rect.x}" y="${rect.y}" width="${rect.width}" height="${rect.height}" rx="${round}" fill="${fill}" stroke="${edge}"/>${side}${words(scene.texts.get(box.id), rect.x + rect.width / 2, rect.y)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" font-family="${escaped(FAMILY)}">`,
    `<title>${escaped(title)}</title>`,
    `<rect x="${-MARGIN}" y="${-MARGIN}" width="${width}" height="${height}" fill="#ffffff"/>`,
    ...frames,
    ...links,
    ...boxes,
    "</svg>",
  ].join("\n");
}

function words(text: Written | undefined, middle: number, top: number): string {
  if (!text) return "";
  const title = text.title.map((line, index) => line_(line, middle, top + PAD_Y + 13 + index * TITLE_LINE, 13, 600));
  const begin = top + PAD_Y + text.title.length * TITLE_LINE + 12;
  return [...title, ...text.name.map((line, index) => line_(line, middle, begin + index * NAME_LINE, 12, 400))].join("");
}

function line_(text: string, x: number, y: number, size: number, weight: number): string {
  return `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" text-anchor="middle" fill="#1c2024">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const LARGEST = 8192; // pixels of a side: browsers draw no larger pictures

/** The same as pixels, as fine as a browser can. */
export async function svgToPng(svg: string, width: number, height: number): Promise<string> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const scale = Math.min(2, LARGEST / (width + 2 * MARGIN), LARGEST / (height + 2 * MARGIN));
  const paper = document.createElement("canvas");
  paper.width = Math.ceil((width + 2 * MARGIN) * scale);
  paper.height = Math.ceil((height + 2 * MARGIN) * scale);
  paper.getContext("2d")?.drawImage(picture, 0, 0, paper.width, paper.height);
  return paper.toDataURL("image/png");
}
