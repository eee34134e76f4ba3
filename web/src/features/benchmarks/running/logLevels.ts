/** The severity of a line of a log. Engines print as they like, so it is read from the words that they begin with. */
export type Level = "error" | "warning" | "info";

export const LEAST = ["all", "warning", "error"] as const;
export type Least = (typeof LEAST)[number];
export const LEAST_WORDS: { value: Least; label: string }[] = [
  { value: "all", label: "All levels" },
  { value: "warning", label: "Warnings and errors" },
  { value: "error", label: "Errors" },
];

const STAMP = String.raw`^\W{0,4}(?:\d[\d:.,TZ+\- ]*)?[\s\[]*`;
// ONNX Runtime "[W:onnxruntime:", TensorFlow "W0000 00:00:" and "W tensorflow/", OpenVINO "[ WARNING ]", Python "RuntimeWarning:".
const RULES: readonly [Level, RegExp][] = [
  ["error", new RegExp(STAMP + String.raw`(?:[EF](?::|\d{4}\b| \w+/)|(?:error|fatal|critical|severe)\b)`, "i")],
  ["error", /^Traceback \(|^[\w.]*(?:Error|Exception)\b|\b[\w.]*Error:/],
  ["warning", new RegExp(STAMP + String.raw`(?:W(?::|\d{4}\b| \w+/)|warn(?:ing)?\b)`, "i")],
  ["warning", /\b\w*Warning:/],
  ["info", new RegExp(STAMP + String.raw`(?:[IVD](?::|\d{4}\b| \w+/)|(?:info|debug|verbose|note)\b)`, "i")],
];

/** ONNX Runtime looks for GPUs in every session, and complains if there is none. */
const ABSENT_GPU = /GPU device discovery failed/;

/** Without lines that do not matter on the CPU. */
export function withoutGpuLines(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !ABSENT_GPU.test(line));
}

export function levelOf(line: string): Level | null {
  return RULES.find(([, rule]) => rule.test(line))?.[0] ?? null;
}

/** Lines of at least this level, each with its continuation: a trace has no level of its own. */
export function filterByLevel(lines: readonly string[], least: Least): readonly string[] {
  if (least === "all") return lines;
  let isShown = false;
  return lines.filter((line) => {
    const level = levelOf(line);
    if (level !== null) isShown = level === "error" || (least === "warning" && level === "warning");
    else if (!/^\s/.test(line) || line.trim() === "") isShown = false;
    return isShown;
  });
}
