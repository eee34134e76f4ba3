/** The part of Markdown that notes need, as values. HTML is text like any other: there is no way to write an element. */

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; parts: Inline[] }
  | { kind: "emphasis"; parts: Inline[] }
  | { kind: "struck"; parts: Inline[] }
  | { kind: "link"; address: string; parts: Inline[] }
  | { kind: "break" };

export type ListItem = { parts: Inline[]; isDone: boolean | null; below: Block[] };

export type Block =
  | { kind: "heading"; level: number; parts: Inline[] }
  | { kind: "paragraph"; parts: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; isOrdered: boolean; start: number; items: ListItem[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const DIVIDER = /^\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*\|?\s*$/;
const DEEPEST = 8; // quotes in quotes, lists in lists: beyond, it is text

export function blocksOf(text: string, depth = 0): Block[] {
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n");
  const blocks: Block[] = [];
  let index = 0;
  const line = (offset = 0) => lines[index + offset];
  while (index < lines.length) {
    const now = line() ?? "";
    if (now.trim() === "") {
      index += 1;
      continue;
    }
    const fence = FENCE.exec(now)?.[1];
    if (fence) {
      const inside: string[] = [];
      index += 1;
      while (index < lines.length && !(line() ?? "").trimStart().startsWith(fence)) {
        inside.push(line() ?? "");
        index += 1;
      }
      index += 1;
      blocks.push({ kind: "code", text: inside.join("\n") });
      continue;
    }
    const heading = HEADING.exec(now);
    if (heading) {
      blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, parts: inlineOf(heading[2] ?? "") });
      index += 1;
      continue;
    }
    if (RULE.test(now)) {
      blocks.push({ kind: "rule" });
      index += 1;
      continue;
    }
    if (QUOTE.test(now) && depth < DEEPEST) {
      const inside: string[] = [];
      while (index < lines.length && QUOTE.test(line() ?? "")) {
        inside.push((line() ?? "").replace(QUOTE, ""));
        index += 1;
      }
      blocks.push({ kind: "quote", blocks: blocksOf(inside.join("\n"), depth + 1) });
      continue;
    }
    if (ITEM.test(now) && depth < DEEPEST) {
      const [list, next] = listFrom(lines, index, depth);
      blocks.push(list);
      index = next;
      continue;
    }
    if (now.includes("|") && DIVIDER.test(line(1) ?? "")) {
      const head = cellsOf(now);
      const rows: Inline[][][] = [];
      index += 2;
      while (index < lines.length && (line() ?? "").includes("|")) {
        const cells = cellsOf(line() ?? "");
        rows.push(head.map((_, column) => cells[column] ?? []));
        index += 1;
      }
      blocks.push({ kind: "table", head, rows });
      continue;
    }
    const inside: string[] = [];
    do {
      inside.push(line() ?? "");
      index += 1;
    } while (index < lines.length && !endsParagraph(line() ?? "", depth));
    blocks.push({ kind: "paragraph", parts: inlineOf(inside.map((line) => line.trimStart()).join("\n")) });
  }
  return blocks;
}

function endsParagraph(line: string, depth: number): boolean {
  if (line.trim() === "" || FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return true;
  return depth < DEEPEST && (QUOTE.test(line) || ITEM.test(line));
}

function listFrom(lines: readonly string[], from: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[from] ?? "");
  const isOrdered = /\d/.test(first?.[2] ?? "");
  const items: ListItem[] = [];
  let index = from;
  while (index < lines.length) {
    const match = ITEM.exec(lines[index] ?? "");
    if (!match || /\d/.test(match[2] ?? "") !== isOrdered || RULE.test(lines[index] ?? "")) break;
    const indent = (match[1]?.length ?? 0) + (match[2]?.length ?? 0) + 1;
    const below: string[] = [];
    index += 1;
    while (index < lines.length) {
      const next = lines[index] ?? "";
      const isDeeper = next.length - next.trimStart().length >= Math.min(indent, 2);
      if (next.trim() !== "" && !isDeeper) break;
      if (next.trim() === "" && (lines[index + 1] ?? "").trim() === "") break;
      below.push(next.slice(Math.min(indent, next.length - next.trimStart().length)));
      index += 1;
    }
    while (index < lines.length && (lines[index] ?? "").trim() === "" && ITEM.test(lines[index + 1] ?? "")) index += 1;
    const task = /^\[([ xX])\]\s+(.*)$/.exec(match[3] ?? "");
    const text = task?.[2] ?? match[3] ?? "";
    items.push({ parts: inlineOf(text), isDone: task ? task[1] !== " " : null, below: blocksOf(below.join("\n"), depth + 1) });
  }
  return [{ kind: "list", isOrdered, start: Number.parseInt(first?.[2] ?? "1", 10) || 1, items }, index];
}

function cellsOf(line: string): Inline[][] {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => inlineOf(cell.trim()));
}

// Whichever comes first wins; the inside of code is not parsed.
const INLINE =
  /\\([!-/:-@[-`{-~])|(`+)(.+?)\2(?!`)|\[([^\][]+)\]\(([^()\s]+)\)|\*\*(?=\S)(.+?)\*\*|(?<!\w)__(?=\S)(.+?)__(?!\w)|\*(?=[^\s*])(.+?)\*|(?<!\w)_(?=\S)(.+?)_(?!\w)|~~(?=\S)(.+?)~~|(https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"])|(\n)/gs;

export function inlineOf(text: string, depth = 0): Inline[] {
  if (depth > DEEPEST) return [{ kind: "text", text }];
  const parts: Inline[] = [];
  let end = 0;
  const inside = (text: string) => inlineOf(text, depth + 1);
  const plain = (text: string) => {
    const last = parts[parts.length - 1];
    if (last?.kind === "text") last.text += text;
    else if (text) parts.push({ kind: "text", text });
  };
  for (const match of text.matchAll(INLINE)) {
    const [whole, escaped, , code, label, address, strong, strong2, weak, weak2, struck, bare, newline] = match;
    plain(text.slice(end, match.index));
    end = match.index + whole.length;
    if (escaped !== undefined) plain(escaped);
    else if (code !== undefined) parts.push({ kind: "code", text: code.trim() || code });
    else if (label !== undefined && address !== undefined) {
      if (isSafe(address)) parts.push({ kind: "link", address, parts: inside(label) });
      else plain(whole);
    } else if (strong ?? strong2) parts.push({ kind: "strong", parts: inside(strong ?? strong2 ?? "") });
    else if (weak ?? weak2) parts.push({ kind: "emphasis", parts: inside(weak ?? weak2 ?? "") });
    else if (struck !== undefined) parts.push({ kind: "struck", parts: inside(struck) });
    else if (bare !== undefined) parts.push({ kind: "link", address: bare, parts: [{ kind: "text", text: bare }] });
    else if (newline !== undefined) parts.push({ kind: "break" });
  }
  plain(text.slice(end));
  return parts;
}

/** Web pages, letters, and places within the workbench; never a script. */
export function isSafe(address: string): boolean {
  return /^(https?:\/\/|mailto:|#)/i.test(address) || /^\/(?!\/|\\)/.test(address);
}
