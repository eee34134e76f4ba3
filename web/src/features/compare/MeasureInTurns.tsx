import { Button, Group, Select, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { COUNT_AXES, bySideName, sizesOf } from "@/api/axes";
import { api, answerOf } from "@/api/client";
import { benchmarkQuery } from "@/api/queries";
import type { CellJudgementDocument } from "@/api/parts";
import type { BenchmarkDetailsDocument, ModelSideRequest } from "@/api/schema.gen";
import { placeName, type Side } from "@/features/compare/picks";
import type { Change } from "@/features/compare/search";
import { Trouble } from "@/ui/Trouble";

type Props = { pid: number; a: Side; b: Side; cells: readonly CellJudgementDocument[]; change: Change };

/** Measures a pair of cells A B A B, so that drift affects both equally. */
export function MeasureInTurns({ pid, a, b, cells, change }: Props) {
  const [chosen, setChosen] = useState("0");
  const first = useQuery(benchmarkQuery(a.benchmark.id));
  const second = useQuery(benchmarkQuery(b.benchmark.id));
  const pair = cells[Number(chosen)] ?? cells[0];
  const sides = pair && first.data && second.data && [requestedSide(first.data, pair.a.number), requestedSide(second.data, pair.b.number)];
  const createComparison = useMutation({
    mutationFn: (sides: readonly [ModelSideRequest, ModelSideRequest]) =>
      answerOf(api.POST("/api/v1/comparisons", { body: { project_id: pid, a: sides[0], b: sides[1] } })),
    onSuccess: (comparison) => change({ comparison: comparison.id }),
  });
  const [sideA, sideB] = sides ?? [];
  const isSide = sideA && sideB;
  return (
    <>
      <Group gap="xs" align="flex-end">
        {cells.length > 1 && (
          <Select
            size="xs"
            label="Cell"
            allowDeselect={false}
            value={chosen}
            onChange={(value) => setChosen(value ?? "0")}
            data={cells.map((cell, index) => ({ value: String(index), label: cellOf(a, cell.a.number) }))}
          />
        )}
        <Button
          size="xs"
          variant="default"
          disabled={!isSide}
          loading={createComparison.isPending}
          onClick={() => isSide && createComparison.mutate([sideA, sideB])}
        >
          Measure in alternation
        </Button>
        <Text size="xs" className="dim" flex={1} miw={200}>
          {sides && !isSide
            ? `Several ${ALONE.map(({ label }) => label).join(" or ")} at once cannot be measured in alternation.`
            : "In turns (A B A B), so that drift affects both equally."}
        </Text>
      </Group>
      {createComparison.isError && <Trouble error={createComparison.error} />}
    </>
  );
}

/** Axes of which a side of a comparison only has the usual value. */
const ALONE = COUNT_AXES.filter((axis) => !axis.is_of_sides);

function cellOf(side: Side, number: number): string {
  const cell = side.benchmark.cells.find((other) => other.number === number);
  return cell ? placeName(cell) : `cell ${number}`;
}

/** The same settings again, as one side; null where a side cannot have them. */
function requestedSide(benchmark: BenchmarkDetailsDocument, number: number): ModelSideRequest | null {
  const cell = benchmark.cells.find((other) => other.number === number);
  if (!cell || ALONE.some(({ name, usual }) => cell[name] !== usual)) return null;
  const { contract, inputs, options, sandbox, signature, spinning, values, precisions } = benchmark.settings;
  return {
    model_id: benchmark.model_id,
    engine: cell.engine,
    device: cell.device,
    ...bySideName(({ name }) => cell[name]),
    // As requested: the precision that it ran in may not be a valid request.
    precision: precisions.length === 1 ? precisions[0] : null,
    contract,
    dims: { ...singleSizes(benchmark.settings.dims), ...sizesOf(cell) },
    inputs,
    options,
    sandbox: sandbox === "required" ? "required" : "on",
    signature,
    spinning,
    values,
  };
}

/** Sizes that all cells share. */
function singleSizes(dims: Record<string, number | readonly number[]>): Record<string, number> {
  return Object.fromEntries(Object.entries(dims).flatMap(([name, size]) => (typeof size === "number" ? [[name, size]] : [])));
}
