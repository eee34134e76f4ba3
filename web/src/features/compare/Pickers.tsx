import { ActionIcon, Box, Group, MultiSelect, Select, Stack, Tooltip } from "@mantine/core";
import { IconArrowsExchange } from "@tabler/icons-react";

import type { ComparisonSummary } from "@/api/schema.gen";
import { choicesOf, type Measured } from "@/features/compare/picks";
import type { Change, Chosen } from "@/features/compare/search";

type Props = {
  all: readonly Measured[];
  comparisons: readonly ComparisonSummary[];
  a: string | undefined;
  b: string | undefined;
  chosen: Chosen;
  change: Change;
};

/** Which two results are compared. */
export function Pickers({ all, comparisons, a, b, chosen, change }: Props) {
  const choices = choicesOf(all);
  const isTurns = chosen.comparison !== undefined;
  const side = (name: "a" | "b", value: string | undefined) => (
    <Select
      label={name.toUpperCase()}
      flex={1}
      miw={220}
      searchable
      nothingFoundMessage="No measurement name contains that"
      placeholder="Choose a measurement"
      data={choices}
      limit={100}
      value={isTurns ? null : (value ?? null)}
      onChange={(pick) => change({ a, b, [name]: pick ?? undefined, comparison: undefined })}
      checkIconPosition="right"
    />
  );
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="xs">
        {side("a", a)}
        <Tooltip label="Swap A and B">
          <ActionIcon variant="default" size={36} aria-label="Swap A and B" disabled={isTurns || !a || !b} onClick={() => change({ a: b, b: a })}>
            <IconArrowsExchange size={18} />
          </ActionIcon>
        </Tooltip>
        {side("b", b)}
      </Group>
      <Group align="flex-end" gap="xs">
        {!isTurns && all.length > 1 && (
          <Box flex={1} miw={220}>
            <MultiSelect
              label="Also show"
              placeholder={chosen.more ? undefined : "More series, for the charts only"}
              searchable
              clearable
              data={choices}
              limit={100}
              value={chosen.more?.split(",") ?? []}
              onChange={(picks) => change({ a, b, more: picks.join(",") || undefined })}
            />
          </Box>
        )}
        {comparisons.length > 0 && (
          <Select
            label="Or a pair that was measured in alternation"
            flex={1}
            miw={220}
            searchable
            clearable
            placeholder="None"
            data={comparisons.map((comparison) => ({ value: String(comparison.id), label: `${comparison.name} #${comparison.id}` }))}
            value={chosen.comparison ? String(chosen.comparison) : null}
            onChange={(id) => change({ comparison: id ? Number(id) : undefined })}
            checkIconPosition="right"
          />
        )}
      </Group>
    </Stack>
  );
}
