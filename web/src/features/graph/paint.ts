/** From nothing to the slowest; the square root makes small times visible. */
export function heat(share: number): number {
  return Math.round(Math.sqrt(Math.min(1, Math.max(0, share))) * 55);
}

/** A colour of the page with so many percent of the hot one in it: dark enough for words on it in both themes. */
export function heatColor(share: number, isDark: boolean): string {
  return mixColors(isDark ? "#d9631e" : "#e8741e", isDark ? "#242424" : "#ffffff", heat(share) / 100);
}

/** A mix of two colours: `part` of the first in the second. */
export function mixColors(first: string, second: string, part: number): string {
  const parts = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  const under = parts(second);
  return `#${parts(first)
    .map((value, at) =>
      Math.round(value * part + (under[at] ?? 0) * (1 - part))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}
