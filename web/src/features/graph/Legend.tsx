import { Box, Group, Text } from "@mantine/core";
import { memo } from "react";

import { KINDS, kindColor } from "@/charts/kinds";
import type { Times } from "@/features/graph/nodeTimes";
import { heatColor } from "@/features/graph/paint";
import { milliseconds } from "@/features/graph/scene";
import { percent } from "@/format/numbers";

/** What the colours mean. */
export const Legend = memo(function Legend({ times, isDark }: { times: Times | null; isDark: boolean }) {
  if (times) {
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => heatColor(share, isDark)).join(", ");
    return (
      <Group gap="xs" role="note" aria-label="Legend">
        <Text size="xs">0</Text>
        <Box
          w={96}
          h={12}
          style={{ background: `linear-gradient(to right, ${stops})`, border: "1px solid var(--mantine-color-default-border)", borderRadius: 3 }}
        />
        <Text size="xs">the slowest box</Text>
        {times.elsewhereMs > 0 && (
          <Text size="xs" className="dim">
            {milliseconds(times.elsewhereMs)} ({percent(times.latencyMs > 0 ? times.elsewhereMs / times.latencyMs : 0, 1)}) are in nodes that the engine created
          </Text>
        )}
      </Group>
    );
  }
  return (
    <Group gap="sm" role="note" aria-label="Legend">
      {KINDS.map((kind) => (
        <Group key={kind} gap={4} wrap="nowrap">
          <Box w={12} h={12} style={{ background: kindColor(kind, isDark), borderRadius: 3 }} />
          <Text size="xs">{kind}</Text>
        </Group>
      ))}
    </Group>
  );
});
