import { NumberInput, Stack, Text } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { Fragment, useMemo } from "react";

import { itemsPerSecond, msPerBatch } from "@/api/figures";
import { Chart } from "@/charts/Chart";
import { drawTradeoff, tradeoffTable, type Curve } from "@/charts/tradeoff";
import { looksOf } from "@/features/compare/looks";
import { lineOf, placeName, type Side } from "@/features/compare/picks";
import type { Change } from "@/features/compare/search";
import { cellLabel, seriesNames } from "@/features/compare/seriesNames";
import { sweetSpots, type Candidate } from "@/features/compare/sweetSpot";
import { NoiseBadge } from "@/ui/badges";
import { Section } from "@/ui/Section";

/** What gives the most items per second without breaking a promise about latency. */
export function Limit({ sides, limit, change }: { sides: readonly Side[]; limit: number | undefined; change: Change }) {
  const changeLimit = useDebouncedCallback((value: number | undefined) => change({ limit: value }), 300);
  const names = useMemo(() => seriesNames(sides), [sides]);
  const candidates: Candidate[] = useMemo(
    () => sides.flatMap((side) => side.cells.map((cell) => ({ name: cellLabel(names.of.get(side.pick) ?? side.name, side, cell), cell }))),
    [sides, names],
  );
  const spots = useMemo(() => (limit === undefined ? [] : sweetSpots(candidates, limit)), [candidates, limit]);
  // If several are not clearly apart, none is the sweet spot.
  const best = useMemo(() => spots.flatMap(({ winners }) => (winners.length === 1 ? winners : [])), [spots]);
  const curves: Curve[] = useMemo(() => {
    const looks = looksOf(sides);
    const places = new Set(candidates.map(({ cell }) => lineOf(cell)));
    const winners = new Set(best.map(({ cell }) => cell));
    return sides.flatMap((side) => {
      const look = looks.get(side.pick);
      const points = side.cells.flatMap((cell) =>
        msPerBatch(cell) && itemsPerSecond(cell)
          ? [
              {
                row: placeName(cell),
                label: places.size === 1 ? `batch ${cell.batch_size}` : placeName(cell),
                line: lineOf(cell),
                isNoisy: cell.noise !== "quiet",
                latency: msPerBatch(cell)?.value ?? 0,
                rate: itemsPerSecond(cell)?.value ?? 0,
                isWinner: winners.has(cell),
              },
            ]
          : [],
      );
      return look ? [{ name: names.of.get(side.pick) ?? side.name, look, points }] : [];
    });
  }, [sides, candidates, names, best]);
  const draw = useMemo(() => drawTradeoff(curves, limit ?? null), [curves, limit]);
  return (
    <Section title="Latency limit">
      <NumberInput
        label="Longest acceptable time per batch (ms)"
        description="Marks the sweet spot ★: the highest throughput whose repeat (±) is expected within the limit"
        maw={320}
        min={0}
        allowNegative={false}
        decimalScale={3}
        placeholder="for example 5"
        defaultValue={limit}
        onChange={(value) => changeLimit(typeof value === "number" && value > 0 ? value : undefined)}
      />
      {spots.length > 0 && (
        <Stack gap={4} role="status">
          {spots.map(({ of, winners, reason }) => (
            <Fragment key={of}>
              <Text fw={600}>
                {winners.length === 1 ? "★ " : ""}
                {spots.length > 1 && of !== "" ? `${of}: ` : ""}
                {reason}
              </Text>
              {winners[0] && winners[0].cell.noise !== "quiet" && <NoiseBadge of={winners[0].cell} />}
            </Fragment>
          ))}
        </Stack>
      )}
      <Chart
        title="Throughput and latency"
        of={names.shared}
        legend={curves}
        summary={`Items per second against the time of a batch, for each cell${best.length > 0 ? `; ★ is ${best.map(({ name }) => name).join("; ")}` : ""}.`}
        reading="Higher is more items per second, further left is faster. Lines join batch sizes with the same number of cores. Hollow: the machine was not quiet. A limit shades what is too slow; ★ is the best of the rest."
        draw={draw}
        table={tradeoffTable(curves)}
        height={300}
      />
    </Section>
  );
}
