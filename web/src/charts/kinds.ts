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
  [
    "Shape and data",
    /reshape|shape|transpose|permute|concat|^cat$|slice|split|gather|scatter|squeeze|flatten|expand|pad|cast|identity|constant|tile|resize|upsample|view|range|where|reorder|copy|clone|depthtospace|spacetodepth/i,
  ],
  [
    "Arithmetic",
    /^(add|sub|mul|div|pow|sqrt|exp|log|neg|abs|sum|mean|min|max|reduce|floor|ceil|round|sin|cos|mod|reciprocal)|^(equal|greater|less|not|and|or)/i,
  ],
];

export function kindOf(op: string): Kind {
  const baseName = op.slice(op.lastIndexOf(".") + 1);
  return RULES.find(([, rule]) => rule.test(baseName))?.[0] ?? "Other";
}

export function kindColor(kind: Kind, isDark: boolean): string {
  return look(KINDS.indexOf(kind), isDark).color;
}
