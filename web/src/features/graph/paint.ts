import { look } from "@/charts/palette";

/** What kinds of work there are; the same hue for each in every model. */
export const KINDS = ["Convolution", "Matrix product", "Normalisation", "Activation", "Pooling", "Arithmetic", "Shape and data", "Other"] as const;
export type Kind = (typeof KINDS)[number];

const RULES: readonly [Kind, RegExp][] = [
  ["Convolution", /conv/i],
  ["Matrix product", /matmul|gemm|attention|^linear|lstm|gru|rnn|einsum|^(add|b)mm$/i],
  ["Normalisation", /norm/i],
  ["Pooling", /pool/i],
  ["Activation", /relu|sigmoid|tanh|gelu|elu$|softmax|swish|mish|erf|clip|softplus|^silu/i],
  ["Shape and data", /reshape|shape|transpose|permute|concat|^cat$|slice|split|gather|scatter|squeeze|flatten|expand|pad|cast|identity|constant|tile|resize|upsample|view|range|where|reorder|copy|clone|depthtospace|spacetodepth/i],
  ["Arithmetic", /^(add|sub|mul|div|pow|sqrt|exp|log|neg|abs|sum|mean|min|max|reduce|floor|ceil|round|sin|cos|mod|reciprocal)|^(equal|greater|less|not|and|or)/i],
];

export function kindOf(op: string): Kind {
  const bare = op.slice(op.lastIndexOf(".") + 1);
  return RULES.find(([, rule]) => rule.test(bare))?.[0] ?? "Other";
}

export function kindColor(kind: Kind, isDark: boolean): string {
  return look(KINDS.indexOf(kind), isDark).color;
}

/** From nothing to the slowest; the square root lets small times be seen. */
export function heat(share: number): number {
  return Math.round(Math.sqrt(Math.min(1, Math.max(0, share))) * 55);
}

/** A colour of the page with so many percent of the hot one in it: dark enough for words on it in both themes. */
export function heatColor(share: number, isDark: boolean): string {
  return mixed(isDark ? "#d9631e" : "#e8741e", isDark ? "#242424" : "#ffffff", heat(share) / 100);
}

/** Some of the first colour in the second. */
export function mixed(first: string, second: string, part: number): string {
  const parts = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  const under = parts(second);
  return `#${parts(first)
    .map((value, at) => Math.round(value * part + (under[at] ?? 0) * (1 - part)).toString(16).padStart(2, "0"))
    .join("")}`;
}
