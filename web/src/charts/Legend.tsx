import { Group, UnstyledButton } from "@mantine/core";

import type { Look } from "@/charts/palette";

export type LegendEntry = {
  name: string;
  look: (isDark: boolean) => Look;
  /** A line without marks: what would be ideal. */
  isLine?: boolean;
  /** An outline instead of a filled mark. */
  isHollow?: boolean;
};

type Props = { entries: readonly LegendEntry[]; isDark: boolean; hidden: ReadonlySet<string>; toggle: (name: string) => void };

/** Names beside their marks; a click hides a series. */
export function Legend({ entries, isDark, hidden, toggle }: Props) {
  return (
    <Group component="ul" aria-label="Legend" gap="xs" p={0} m={0} style={{ listStyle: "none", rowGap: 0 }}>
      {entries.map(({ name, look, isLine, isHollow }) => (
        <li key={name} style={{ minWidth: 0 }}>
          <UnstyledButton className="legend-entry" aria-pressed={!hidden.has(name)} onClick={() => toggle(name)}>
            <Mark look={look(isDark)} isLine={isLine} isHollow={isHollow} />
            {name}
          </UnstyledButton>
        </li>
      ))}
    </Group>
  );
}

// In a square of 12, as the chart draws them.
const SHAPES: Record<Look["mark"], string> = {
  circle: "M6 1 A5 5 0 1 1 6 11 A5 5 0 1 1 6 1 Z",
  rect: "M1 1 H11 V11 H1 Z",
  triangle: "M6 1 L11 11 H1 Z",
  diamond: "M6 0.5 L11 6 L6 11.5 L1 6 Z",
  pin: "M6 11.5 L2.8 6.6 A3.9 3.9 0 1 1 9.2 6.6 Z",
  arrow: "M6 1 L10.5 11 L6 8.4 L1.5 11 Z",
  roundRect: "M3 1 H9 A2 2 0 0 1 11 3 V9 A2 2 0 0 1 9 11 H3 A2 2 0 0 1 1 9 V3 A2 2 0 0 1 3 1 Z",
};

function Mark({ look, isLine, isHollow }: Omit<LegendEntry, "name" | "look"> & { look: Look }) {
  const { color, mark } = look;
  return (
    <svg width={isLine ? 20 : 12} height={12} viewBox={`0 0 ${isLine ? 20 : 12} 12`} aria-hidden style={{ flexShrink: 0 }}>
      {isLine ? (
        <path d="M0 6 H20" stroke={color} strokeWidth={1.5} strokeDasharray="4 3" />
      ) : (
        <path d={SHAPES[mark]} fill={isHollow ? "none" : color} stroke={isHollow ? color : "none"} strokeWidth={1.5} />
      )}
    </svg>
  );
}
