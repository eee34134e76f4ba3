import { Group, SegmentedControl, Select, SimpleGrid, Tabs, Text } from "@mantine/core";
import { useMemo } from "react";

import { engineTitle } from "@/api/engines";
import { METRICS, METRIC_NAMES, type Metric } from "@/api/figures";
import type { CellJudgementDocument } from "@/api/parts";
import { Chart } from "@/charts/Chart";
import { dotsHeight, dotsSummary, dotsTable, drawDots, largestValue, type Dots, type DotSeries } from "@/charts/dots";
import { drawRatios, ratiosHeight, ratiosSummary, ratiosTable, type Ratio } from "@/charts/ratios";
import { looksOf } from "@/features/compare/looks";
import { pairName, placeName, placesOf, type Side } from "@/features/compare/picks";
import { seriesNames, type SeriesNames } from "@/features/compare/seriesNames";
import type { Change, Chosen } from "@/features/compare/search";

type Props = { sides: readonly Side[]; cells: readonly CellJudgementDocument[]; chosen: Chosen; change: Change };

/** The numbers themselves with their intervals, and the ratio of the two. */
export function Plots({ sides, cells, chosen, change }: Props) {
  const metric = chosen.metric ?? "ms_item";
  const engines = [...new Set(sides.map((side) => side.engine).filter(Boolean))];
  const tab = chosen.tab && engines.includes(chosen.tab) ? chosen.tab : "all";
  const visible = useMemo(() => (tab === "all" ? sides : sides.filter((side) => side.engine === tab)), [sides, tab]);
  const looks = useMemo(() => looksOf(sides), [sides]);
  // Of all sides, even if a tab shows only one of them: a series keeps its name.
  const names = useMemo(() => seriesNames(sides), [sides]);
  const series = useMemo(() => visible.map((side) => seriesOf(side, metric, names, looks.get(side.pick))), [visible, metric, names, looks]);
  const isMany = visible.length > 2;
  return (
    <>
      <Group justify="space-between" gap="sm" align="flex-end">
        {engines.length > 1 ? (
          <Tabs value={tab} onChange={(value) => change({ tab: value === "all" ? undefined : (value ?? undefined) })} aria-label="Engines">
            <Tabs.List aria-label="Engines">
              <Tabs.Tab value="all">{engines.length > 2 ? "ALL" : "BOTH"}</Tabs.Tab>
              {engines.map((engine) => (
                <Tabs.Tab key={engine} value={engine}>
                  {engineTitle(engine).toUpperCase()}
                </Tabs.Tab>
              ))}
            </Tabs.List>
          </Tabs>
        ) : (
          <Text size="sm" className="dim">
            {engines[0] ? `All on ${engineTitle(engines[0])}` : ""}
          </Text>
        )}
        <MetricChoice metric={metric} change={change} />
      </Group>
      {isMany && names.shared && (
        <Text size="sm" className="dim">
          All of {names.shared}
        </Text>
      )}
      {isMany ? (
        <Multiples series={series} metric={metric} sides={visible} />
      ) : (
        <Pair series={series} metric={metric} sides={visible} shared={names.shared} cells={cells} looks={looks} all={sides} />
      )}
      {isMany && <Ratios cells={cells} looks={looks} sides={sides} />}
    </>
  );
}

function MetricChoice({ metric, change }: { metric: Metric; change: Change }) {
  const data = METRIC_NAMES.map((value) => ({ value, label: METRICS[value].label }));
  const choose = (value: string | null) => change({ metric: METRIC_NAMES.find((name) => name === value) });
  return (
    <>
      <SegmentedControl size="xs" visibleFrom="sm" aria-label="Metric" value={metric} onChange={choose} data={data} />
      <Select hiddenFrom="sm" label="Metric" size="xs" allowDeselect={false} value={metric} onChange={choose} data={data} />
    </>
  );
}

type PlotProps = { series: DotSeries[]; metric: Metric; sides: readonly Side[] };

function Pair({
  series,
  metric,
  sides,
  shared,
  cells,
  looks,
  all,
}: PlotProps & { shared: string; cells: readonly CellJudgementDocument[]; looks: Looks; all: readonly Side[] }) {
  return (
    <SimpleGrid cols={{ base: 1, md: cells.some((cell) => cell.ratio) ? 2 : 1 }}>
      <DotChart title={METRICS[metric].label} of={shared} rows={placesOf(sides)} series={series} metric={metric} />
      <Ratios cells={cells} looks={looks} sides={all} />
    </SimpleGrid>
  );
}

/** One panel for each, on the same axis. */
function Multiples({ series, metric, sides }: PlotProps) {
  const most = largestValue(series) * 1.05;
  const rows = placesOf(sides);
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
      {series.map((entry) => (
        <DotChart key={entry.name} title={entry.name} rows={rows} series={[entry]} metric={metric} most={most} />
      ))}
    </SimpleGrid>
  );
}

type OneChart = { title: string; of?: string; rows: readonly string[]; series: readonly DotSeries[]; metric: Metric; most?: number };

function DotChart({ title, of, rows, series, metric, most }: OneChart) {
  const { label, unit } = METRICS[metric];
  const dots: Dots = useMemo(() => ({ rows, row: "cell", metric: label, unit, series, most }), [rows, label, unit, series, most]);
  const draw = useMemo(() => drawDots(dots), [dots]);
  return (
    <Chart
      title={title}
      of={of}
      legend={series.filter(({ name }) => name !== title)} // its title says it already
      summary={dotsSummary(dots)}
      reading="Dots are measurements, bars where a repeat is expected (95 %). Which is faster is judged by the ratio. Hollow: the machine was not quiet."
      draw={draw}
      table={dotsTable(dots)}
      height={dotsHeight(dots)}
    />
  );
}

type Looks = ReturnType<typeof looksOf>;

function Ratios({ cells, looks, sides }: { cells: readonly CellJudgementDocument[]; looks: Looks; sides: readonly Side[] }) {
  const [a, b] = sides;
  const ratios = useMemo(() => (a && b ? ratiosOf(cells, a, b) : []), [cells, a, b]);
  const draw = useMemo(() => {
    const lookA = a && looks.get(a.pick);
    const lookB = b && looks.get(b.pick);
    return lookA && lookB ? drawRatios(ratios, { a: lookA, b: lookB }) : null;
  }, [ratios, looks, a, b]);
  if (ratios.length === 0 || !draw) return null;
  return (
    <Chart
      title="Ratio of B to A"
      summary={ratiosSummary(ratios)}
      reading="Bars are 95 % intervals: over the pairs where they were measured in alternation, else over the sessions of each run. Left of the line, B takes less time than A; right of it, more. Grey bars cross the line or are too close to it: no clear difference."
      draw={draw}
      table={ratiosTable(ratios)}
      height={ratiosHeight(ratios)}
    />
  );
}

function ratiosOf(cells: readonly CellJudgementDocument[], a: Side, b: Side): Ratio[] {
  return cells.flatMap((cell) => {
    const cellA = a.benchmark.cells.find((other) => other.number === cell.a.number);
    const cellB = b.benchmark.cells.find((other) => other.number === cell.b.number);
    if (!cell.ratio || !cellA || !cellB) return [];
    return [{ ...cell.ratio, row: pairName(cellA, cellB), faster: cell.faster, basis: cell.basis ?? "" }];
  });
}

function seriesOf(side: Side, metric: Metric, names: SeriesNames, look: DotSeries["look"] | undefined): DotSeries {
  const dots = side.cells.flatMap((cell) => {
    const figure = METRICS[metric].of(cell);
    if (!figure) return [];
    return [{ row: placeName(cell), ...figure, sessions: cell.sessions, isNoisy: cell.noise !== null && cell.noise !== "quiet" }];
  });
  return { name: names.of.get(side.pick) ?? side.name, look: look ?? (() => ({ color: "#7a838d", mark: "circle", dash: "solid" })), dots };
}
