import { engineLook, look, type Look } from "@/charts/palette";
import type { Side } from "@/features/compare/picks";

/** Engines keep their hue if that distinguishes the sides; else each side gets the next hue. */
export function looksOf(sides: readonly Side[]): Map<string, (isDark: boolean) => Look> {
  const engines = new Set(sides.map((side) => side.engine));
  const isByEngine = engines.size === sides.length && !engines.has("");
  return new Map(sides.map((side, index) => [side.pick, (isDark: boolean) => (isByEngine ? engineLook(side.engine, isDark) : look(index, isDark))]));
}
