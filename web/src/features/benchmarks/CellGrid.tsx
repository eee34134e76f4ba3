import { Table, Text, Tooltip, UnstyledButton } from "@mantine/core";

import type { CellProgressTold, CellTold } from "@/api/schema.gen";
import { slotsOf, variantName, variantOf, type Slot } from "@/features/benchmarks/cells";
import { soFar } from "@/format/numbers";
import { cellName } from "@/format/words";

type Props = { cells: readonly CellTold[]; told: readonly CellProgressTold[]; chosen: number | null; choose: (cell: number) => void };

const SIGNS = { done: "✓", measuring: "◑", failed: "✕" } as const;

/** Each cell of a running benchmark: which are done, which are at it, which wait. */
export function CellGrid({ cells, told, chosen, choose }: Props) {
  const slots = slotsOf(cells, told);
  const variants = [...new Set(cells.map(variantOf))];
  return (
    <>
      {variants.map((variant) => {
        const own = slots.filter(({ cell }) => variantOf(cell) === variant);
        const first = own[0]?.cell;
        return <VariantGrid key={variant} name={variants.length > 1 && first ? variantName(first, cells) : null} slots={own} chosen={chosen} choose={choose} />;
      })}
    </>
  );
}

type GridProps = { name: string | null; slots: readonly Slot<CellProgressTold>[]; chosen: number | null; choose: (cell: number) => void };

function VariantGrid({ name, slots, chosen, choose }: GridProps) {
  const cores = [...new Set(slots.map(({ cell }) => cell.cores))].sort((a, b) => a - b);
  const batches = [...new Set(slots.map(({ cell }) => cell.batch_size))].sort((a, b) => a - b);
  return (
    <Table.ScrollContainer minWidth={100 + 60 * cores.length} type="native">
      {name && (
        <Text size="sm" fw={600}>
          {name}
        </Text>
      )}
      <Table w="auto" aria-label={name ? `Cells of ${name}` : "Cells"} verticalSpacing={2} withRowBorders={false}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th className="dim" fw={500}>
              cores →
            </Table.Th>
            {cores.map((core) => (
              <Table.Th key={core} ta="center">
                {core}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {batches.map((batch) => (
            <Table.Tr key={batch}>
              <Table.Th scope="row" fw={500}>
                batch {batch}
              </Table.Th>
              {cores.map((core) => {
                const slot = slots.find(({ cell }) => cell.cores === core && cell.batch_size === batch);
                return (
                  <Table.Td key={core} ta="center" p={2}>
                    {slot && <GridButton slot={slot} isChosen={slot.cell.number === chosen} choose={choose} />}
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function GridButton({ slot: { cell, told }, isChosen, choose }: { slot: Slot<CellProgressTold>; isChosen: boolean; choose: (cell: number) => void }) {
  const isDone = told?.state === "done";
  const sign = told && (told.sessions > 0 || isDone) ? SIGNS[told.state] : "·";
  const words = `${cellName(cell)}: ${standingOf(told)}`;
  return (
    <Tooltip label={words}>
      <UnstyledButton
        onClick={() => choose(cell.number)}
        aria-label={words}
        aria-pressed={isChosen}
        data-state={told?.state ?? "waiting"}
        w={44}
        h={30}
        ta="center"
        style={{
          borderRadius: 6,
          border: isChosen ? "2px solid var(--mantine-primary-color-filled)" : "1px solid var(--mantine-color-default-border)",
          background: isDone ? "var(--mantine-color-green-light)" : undefined,
        }}
      >
        <span aria-hidden>{sign}</span>
      </UnstyledButton>
    </Tooltip>
  );
}

/** "done, 0.31 ms per batch ±4 %, 6 sessions". */
export function standingOf(told: CellProgressTold | undefined): string {
  if (!told || (told.sessions === 0 && told.state === "measuring")) return "waiting";
  const words: string[] = [told.state];
  if (told.estimate_ms !== null) words.push(estimateText(told.estimate_ms, told.relative_half_width));
  words.push(`${told.sessions} ${told.sessions === 1 ? "session" : "sessions"}`);
  return words.join(", ");
}

export function estimateText(ms: number, halfWidth: number | null): string {
  return soFar(ms, halfWidth).replace(" ms", " ms per batch");
}
