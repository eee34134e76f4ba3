import { Table, Text, Tooltip, UnstyledButton } from "@mantine/core";
import { createContext, memo, use, useMemo } from "react";

import type { CellDocument, CellProgressDocument } from "@/api/schema.gen";
import { slotsOf, variantName, variantOf } from "@/features/benchmarks/results/cells";
import { liveEstimateText } from "@/format/numbers";
import { cellName } from "@/format/words";

type Props = { cells: readonly CellDocument[]; progress: readonly CellProgressDocument[]; chosen: number | null; choose: (cell: number) => void };

const SIGNS = { done: "✓", measuring: "◑", failed: "✕" } as const;

type ByCell = ReadonlyMap<number, CellProgressDocument | undefined>;
const CellProgressContext = createContext<ByCell>(new Map());

/** Each cell of a running benchmark: done, measuring or waiting. */
export function CellGrid({ cells, progress, chosen, choose }: Props) {
  const grids = useMemo(() => gridsOf(cells), [cells]);
  const byCell: ByCell = useMemo(() => new Map(slotsOf(cells, progress).map((slot) => [slot.cell.number, slot.progress])), [cells, progress]);
  return (
    <CellProgressContext value={byCell}>
      {grids.map((grid) => (
        <VariantGrid key={grid.variant} grid={grid} chosen={chosen} choose={choose} />
      ))}
    </CellProgressContext>
  );
}

type Grid = { variant: string; name: string | null; cores: number[]; rows: { batch: number; cells: (CellDocument | undefined)[] }[] };

/** One for each variant: a row for each batch size, a column for each number of cores. */
function gridsOf(cells: readonly CellDocument[]): Grid[] {
  const variants = [...new Set(cells.map((cell) => variantOf(cell)))];
  return variants.map((variant) => {
    const own = cells.filter((cell) => variantOf(cell) === variant);
    const cores = [...new Set(own.map((cell) => cell.cores))].sort((a, b) => a - b);
    const batches = [...new Set(own.map((cell) => cell.batch_size))].sort((a, b) => a - b);
    const rows = batches.map((batch) => ({ batch, cells: cores.map((core) => own.find((cell) => cell.cores === core && cell.batch_size === batch)) }));
    return { variant, name: variants.length > 1 && own[0] ? variantName(own[0], cells) : null, cores, rows };
  });
}

type GridProps = { grid: Grid; chosen: number | null; choose: (cell: number) => void };

/** Is not rendered again while the job runs; cells get their progress from the context. */
const VariantGrid = memo(function VariantGrid({ grid: { name, cores, rows }, chosen, choose }: GridProps) {
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
          {rows.map(({ batch, cells }) => (
            <Table.Tr key={batch}>
              <Table.Th scope="row" fw={500}>
                batch {batch}
              </Table.Th>
              {cells.map((cell, column) => (
                <Table.Td key={cores[column]} ta="center" p={2}>
                  {cell && <GridCell cell={cell} isChosen={cell.number === chosen} choose={choose} />}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
});

type CellProps = { cell: CellDocument; isChosen: boolean; choose: (cell: number) => void };

function GridCell({ cell, ...rest }: CellProps) {
  const progress = use(CellProgressContext).get(cell.number);
  const hasBegun = progress !== undefined && (progress.sessions > 0 || progress.state === "done");
  return (
    <GridButton
      number={cell.number}
      words={`${cellName(cell)}: ${progressText(progress)}`}
      state={progress?.state ?? "waiting"}
      hasBegun={hasBegun}
      {...rest}
    />
  );
}

type ButtonProps = Omit<CellProps, "cell"> & { number: number; words: string; state: CellProgressDocument["state"] | "waiting"; hasBegun: boolean };

/** Only cells whose text or state changed are rendered again. */
const GridButton = memo(function GridButton({ number, words, state, hasBegun, isChosen, choose }: ButtonProps) {
  return (
    <Tooltip label={words}>
      <UnstyledButton
        onClick={() => choose(number)}
        aria-label={words}
        aria-pressed={isChosen}
        data-state={state}
        w={44}
        h={30}
        ta="center"
        style={{
          borderRadius: 6,
          border: isChosen ? "2px solid var(--mantine-primary-color-filled)" : "1px solid var(--mantine-color-default-border)",
          background: state === "done" ? "var(--mantine-color-green-light)" : undefined,
        }}
      >
        <span aria-hidden>{state !== "waiting" && hasBegun ? SIGNS[state] : "·"}</span>
      </UnstyledButton>
    </Tooltip>
  );
});

/** "done, 0.31 ms per batch ±4 %, 6 sessions". */
export function progressText(progress: CellProgressDocument | undefined): string {
  if (!progress || (progress.sessions === 0 && progress.state === "measuring")) return "waiting";
  const words: string[] = [progress.state];
  if (progress.estimate_ms !== null) words.push(estimateText(progress.estimate_ms, progress.relative_half_width));
  words.push(`${progress.sessions} ${progress.sessions === 1 ? "session" : "sessions"}`);
  return words.join(", ");
}

export function estimateText(ms: number, halfWidth: number | null): string {
  return liveEstimateText(ms, halfWidth).replace(" ms", " ms per batch");
}
