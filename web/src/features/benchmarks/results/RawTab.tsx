import { Anchor, Badge, Group, Skeleton, Stack, Switch, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { distributionQuery, resultQuery } from "@/api/queries";
import type { BenchmarkDetailsDocument, DistributionDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { binsOf, drawHistogram, histogramSummary, histogramTable, type Mark } from "@/charts/histogram";
import { isOutlier } from "@/charts/iterations";
import { engineLook } from "@/charts/palette";
import { isBenchmark } from "@/features/benchmarks/reproduce/ReproduceTab";
import { ResultControls } from "@/features/benchmarks/results/ResultControls";
import { choose } from "@/features/benchmarks/results/cells";
import type { Change, ResultView } from "@/features/benchmarks/results/view";
import { count, decimals, fixedText } from "@/format/numbers";
import { cellName } from "@/format/words";
import { DataTable, type Column } from "@/ui/DataTable";
import { Trouble } from "@/ui/Trouble";

type Props = { benchmark: BenchmarkDetailsDocument; view: ResultView; change: Change };
type Row = { iteration: number; session: number; ms: number; isOutlier: boolean };
type Percentile = { name: string; value: number | null; ci: readonly number[] | null; needs: number | null };

/** As many as the server gives of a cell; the file has all. */
const MOST_ROWS = 20_000;

/** The samples of a cell: in a histogram, and one by one. */
export function RawTab({ benchmark, view, change }: Props) {
  const choice = useMemo(() => choose(benchmark.cells, view), [benchmark.cells, view]);
  const cell = choice.chosen;
  const runId = benchmark.latest_run?.id ?? "";
  const query = useQuery({ ...distributionQuery(runId, cell?.number ?? 0, MOST_ROWS), enabled: runId !== "" && cell !== undefined });
  const distribution = query.data;
  const { percentiles, isWithin } = usePercentiles(runId, cell?.number ?? -1);
  if (!cell || runId === "") return <Text className="dim">Nothing measured yet.</Text>;
  if (query.isError) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <Anchor href={`/api/v1/runs/${runId}/samples`} download size="sm">
          Download all samples (CSV)
        </Anchor>
        <ResultControls choice={choice} view={{ ...view, tab: "baseline" }} change={change} />
      </Group>
      {distribution === undefined ? (
        <Skeleton height={420} />
      ) : distribution === null ? (
        <Text className="dim">This cell has no samples.</Text>
      ) : (
        <>
          <Percentiles rows={percentiles} isWithin={isWithin} name={cellName(cell)} />
          <HistogramOf distribution={distribution} engine={cell.engine} percentiles={percentiles} name={cellName(cell)} />
          <SampleTable distribution={distribution} />
        </>
      )}
    </Stack>
  );
}

/** `isWithin`: fewer than four sessions, so that only the spread within them is known. */
function usePercentiles(runId: string, cell: number): { percentiles: readonly Percentile[]; isWithin: boolean } {
  const result = useQuery({ ...resultQuery(runId), enabled: runId !== "" }).data;
  const latency = isBenchmark(result) ? result.cells[cell]?.latency_ms : null;
  if (!latency) return { percentiles: [], isWithin: false };
  const { typical: p50, p90, p95, p99 } = latency;
  const percentiles = Object.entries({ p50, p90, p95, p99 }).map(([name, { value, low, high, needs }]) => ({
    name,
    value,
    ci: low === null || high === null ? null : [low, high],
    needs,
  }));
  return { percentiles, isWithin: p50.of === "samples" };
}

function Percentiles({ rows, isWithin, name }: { rows: readonly Percentile[]; isWithin: boolean; name: string }) {
  if (rows.length === 0) return null;
  return (
    <Table.ScrollContainer minWidth={320}>
      <Table aria-label={`Percentiles at ${name}`} w="auto">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Percentile</Table.Th>
            <Table.Th ta="right">ms per batch</Table.Th>
            <Table.Th>{isWithin ? "Spread within sessions" : "95 % interval within this run"}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ name: percentile, value, ci, needs }) => (
            <Table.Tr key={percentile}>
              <Table.Th scope="row" fw={500}>
                {percentile}
              </Table.Th>
              <Table.Td ta="right">{value === null ? "–" : fixedText(value, decimals(value, 4))}</Table.Td>
              <Table.Td>
                {ci ? (
                  ci.map((bound) => fixedText(bound, decimals(bound, 4))).join(" to ")
                ) : (
                  <Text span size="sm" className="dim">
                    {needs ? `needs about ${count(needs)} samples` : "–"}
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function HistogramOf({
  distribution,
  engine,
  percentiles,
  name,
}: {
  distribution: DistributionDocument;
  engine: string;
  percentiles: readonly Percentile[];
  name: string;
}) {
  const [isLog, setLog] = useState(false);
  const bins = useMemo(() => binsOf(distribution), [distribution]);
  const draw = useMemo(() => {
    const marks: Mark[] = percentiles.flatMap(({ name: mark, value }) =>
      value !== null && ["p50", "p90", "p99"].includes(mark) ? [{ name: mark, value }] : [],
    );
    return drawHistogram(bins, marks, isLog, (isDark) => engineLook(engine, isDark));
  }, [bins, percentiles, isLog, engine]);
  return (
    <Chart
      title={`Distribution at ${name}`}
      summary={histogramSummary(bins)}
      reading="How many samples took how long. Dashed lines are percentiles, drawn only where there are enough samples to estimate them. The last bar contains everything above the scale."
      draw={draw}
      table={histogramTable(bins)}
    >
      <Switch size="xs" label="log" aria-label="Logarithmic counts" checked={isLog} onChange={(event) => setLog(event.currentTarget.checked)} />
    </Chart>
  );
}

function SampleTable({ distribution }: { distribution: DistributionDocument }) {
  const rows = useMemo<Row[]>(
    () => distribution.points.map(({ iteration, session, ms }) => ({ iteration, session, ms, isOutlier: isOutlier(ms, distribution.outliers) })),
    [distribution],
  );
  const columns: Column<Row>[] = [
    { id: "place", header: "Iteration", value: (row) => row.iteration, isNumber: true },
    { id: "session", header: "Session", value: (row) => row.session, isNumber: true },
    { id: "ms", header: "ms per batch", value: (row) => row.ms, show: (row) => fixedText(row.ms, 6), isNumber: true },
    {
      id: "far",
      header: "",
      value: (row) => (row.isOutlier ? 1 : 0),
      show: (row) =>
        row.isOutlier ? (
          <Badge color="yellow" variant="light" tt="none" miw="max-content">
            outlier
          </Badge>
        ) : (
          ""
        ),
    },
  ];
  return (
    <>
      {distribution.is_thinned && (
        <Text size="sm" className="dim">
          One of {distribution.samples_per_point} samples is listed; the file has all {count(distribution.samples)}.
        </Text>
      )}
      <DataTable label="Samples" rows={rows} columns={columns} rowId={(row) => String(row.iteration)} rowHeight={34} height={360} />
    </>
  );
}
