import { engineColor } from "@/api/engines";

/** Eight hues that stay apart for colour-blind readers and in both themes; series also differ by mark and dash. */
const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#56A4D8", "#6B4C9A", "#5F6B76"] as const;
const DARK = ["#4BA3DD", "#FF8C42", "#2EC79B", "#E07BC5", "#E0B040", "#8CCBF2", "#A98BDB", "#A3ADB8"] as const;
const MARKS = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect", "circle"] as const;
const DASHES = ["solid", "dashed", "dotted", "solid", "dashed", "dotted", "solid", "dashed"] as const;

export type Look = { color: string; mark: (typeof MARKS)[number]; dash: (typeof DASHES)[number] };

export function look(place: number, isDark: boolean): Look {
  const index = place % LIGHT.length;
  const mark = MARKS[(index + Math.floor(place / LIGHT.length)) % MARKS.length] ?? "circle"; // where a colour repeats, the mark differs
  return { color: (isDark ? DARK : LIGHT)[index] ?? LIGHT[0], mark, dash: DASHES[index] ?? "solid" };
}

export function engineLook(engine: string, isDark: boolean): Look {
  return look(engineColor(engine), isDark);
}
