import { Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Format } from "@/api/figureColumns";
import { formatFigure, type Interval } from "@/format/numbers";

type Props = {
  label: string;
  value: number | null | undefined;
  interval: Interval | null;
  unit: string;
  /** How its value is meant; a number in its unit otherwise. */
  format?: Format;
  /** What it rests on: "7 sessions", or why there is no interval. */
  basis?: ReactNode;
};

/** A number with everything that belongs to it: unit, interval, and what it rests on. */
export function Figure({ label, value, interval, unit, format = "amount", basis }: Props) {
  const quantity = formatFigure(format, value, interval, unit);
  return (
    <Stack gap={0}>
      <Text size="sm" className="dim">
        {label}
      </Text>
      <Group gap={6} align="baseline" wrap="wrap">
        <Text className="figure" span>
          {quantity.value}
        </Text>
        {quantity.spread && (
          <Text span size="sm">
            {quantity.spread}
          </Text>
        )}
        {value != null && quantity.unit && (
          <Text span size="sm" className="dim">
            {quantity.unit}
          </Text>
        )}
      </Group>
      {basis && (
        <Text size="xs" className="dim">
          {basis}
        </Text>
      )}
    </Stack>
  );
}
