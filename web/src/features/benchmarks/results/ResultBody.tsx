import { Alert, Badge, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, type ReactNode } from "react";

import { distributionQuery } from "@/api/queries";
import { cardFigures } from "@/api/figureColumns";
import { METRICS, floorMsPerItem, itemsPerSecond, msPerBatch, msPerItem, withinRun, type MeasuredFigure } from "@/api/figures";
import type { CellDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { MOST_POINTS, drawIterations, iterationsSummary, iterationsTable } from "@/charts/iterations";
import { engineLook, look } from "@/charts/palette";
import { drawScaling, extremes, hasInterval, overlap, scalingLegend, scalingSummary, scalingTable, type Point, type Scaling } from "@/charts/scaling";
import { basisOf, cellAt, intervalOf, isOfOutput, pointsOf, variantOf, type Choice } from "@/features/benchmarks/results/cells";
import type { ResultView } from "@/features/benchmarks/results/view";
import { percent } from "@/format/numbers";
import { cellName, intervalWords } from "@/format/words";
import { Figure } from "@/ui/Figure";
import { Trouble } from "@/ui/Trouble";
import { NoiseBadge } from "@/ui/badges";

type Props = { cells: readonly CellDocument[]; choice: Choice; view: ResultView; runId: string | null; beside?: ReactNode };

/** Numbers at the left, the chart that they belong to at the right. */
export function ResultBody({ cells, choice, view, runId, beside }: Props) {
  const { chosen } = choice;
  if (!chosen) return <Text className="dim">Nothing measured.</Text>;
  return (
    <div className="numbers-and-chart">
      <Stack gap="sm">
        {view.tab === "baseline" ? <Numbers cell={chosen} /> : <ScalingNumbers cells={cells} cell={chosen} view={view} />}
        {beside}
      </Stack>
      <div>
        {view.tab === "baseline" ? <IterationsOf cell={chosen} runId={runId} /> : <ScalingOf cells={cells} choice={choice} chosen={chosen} view={view} />}
      </div>
    </div>
  );
}

const SLOW = 0.8; // of the server's verdict on the speed of a machine

export function Quality({ cell }: { cell: CellDocument }) {
  return (
    <Group gap={6}>
      {cell.machine_speed !== null && cell.machine_speed < SLOW && (
        <Text size="sm" fw={600} w="100%">
          This machine ran at {percent(cell.machine_speed)} of its usual speed.
        </Text>
      )}
      <NoiseBadge of={cell} />
      {cell.status === "partial" && (
        <Badge color="gray" variant="light" tt="none">
          partial
        </Badge>
      )}
    </Group>
  );
}

/** What it really ran as, and each deviation from the request. */
export function RanAs({ cell }: { cell: CellDocument }) {
  if (!cell.effective) return null;
  return (
    <Stack gap={4}>
      <Text size="xs" className="dim" style={{ overflowWrap: "anywhere" }}>
        Ran as {[cell.effective.text, cell.shape].filter(Boolean).join(" · ")}
      </Text>
      {cell.surprises.map((surprise) => (
        <Text key={surprise.text} size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: "anywhere" }}>
          <b>{isOfOutput(surprise) ? "Unusual:" : "Not as requested:"}</b> {surprise.text} <span className="dim">({surprise.fix})</span>
        </Text>
      ))}
    </Stack>
  );
}

/** Three numbers of one cell, each with its interval and what it rests on. */
export function Numbers({ cell }: { cell: CellDocument }) {
  if (cell.status === "failed" && cell.error?.code === "CANCELLED") {
    return (
      <Alert color="gray" variant="light" title={cellName(cell)}>
        Not measured: the run was stopped before this cell had enough sessions for a number.
      </Alert>
    );
  }
  if (cell.status === "failed" && cell.error) {
    return (
      <Alert color="red" variant="light" title={cell.error.title}>
        <Text size="sm">{[cell.error.detail, cell.error.fix].filter(Boolean).join(". ")}</Text>
      </Alert>
    );
  }
  const basis = (what: string, figure: MeasuredFigure | null) => (cell.latency_ms ? `${what} · measured · ${basisOf(cell, figure)}` : "not measured");
  return (
    <>
      <Text size="sm" fw={600}>
        {cellName(cell)}
      </Text>
      <Figure label="ms per item" value={msPerItem(cell)?.value} interval={intervalOf(msPerItem(cell))} unit="ms" basis={basis("median", msPerItem(cell))} />
      {cell.noise === "contended" && (
        <Figure
          label={METRICS.floor_item.label}
          value={floorMsPerItem(cell)?.value}
          interval={intervalOf(floorMsPerItem(cell))}
          unit="ms"
          basis={["the cost without disturbances: use this one, since other programs were running", intervalWords(floorMsPerItem(cell))]
            .filter(Boolean)
            .join(" · ")}
        />
      )}
      <Figure
        label="ms per batch"
        value={msPerBatch(cell)?.value}
        interval={intervalOf(msPerBatch(cell))}
        unit="ms"
        basis={basis("median", msPerBatch(cell))}
      />
      <Figure
        label="items per second"
        value={itemsPerSecond(cell)?.value}
        interval={intervalOf(itemsPerSecond(cell))}
        unit="items/s"
        basis={basis("sustained, from the mean", itemsPerSecond(cell))}
      />
      {cardFigures(cell).map(({ label, format, unit, figure }) => (
        <Figure
          key={label}
          label={label}
          value={figure.value}
          interval={intervalOf(figure)}
          unit={unit}
          format={format}
          basis={["measured", intervalWords(figure)].filter(Boolean).join(" · ")}
        />
      ))}
      <Quality cell={cell} />
      <RanAs cell={cell} />
    </>
  );
}

const ALONG = { cores: { key: "cores", name: "cores" }, batches: { key: "batch_size", name: "batch size" } } as const;

function ScalingNumbers({ cells, cell, view }: { cells: readonly CellDocument[]; cell: CellDocument; view: ResultView }) {
  const along = view.tab === "batches" ? ALONG.batches : ALONG.cores;
  const { label, unit, isRate, of } = METRICS[view.metric];
  const points = pointsOf(cells, variantOf(cell), along.key, cell, view.metric);
  const ends = extremes(points, isRate);
  const areKnown = ends !== null && hasInterval(ends.best) && hasInterval(ends.worst);
  const isClear = ends !== null && !overlap(ends.best, ends.worst);
  const renderFigure = (name: string, ofCell: CellDocument | undefined) => {
    const figure = ofCell ? of(ofCell) : null;
    return (
      <Figure
        label={name}
        value={figure?.value}
        interval={intervalOf(figure)}
        unit={unit}
        basis={ofCell && figure ? `measured · ${basisOf(ofCell, figure)}` : "not measured"}
      />
    );
  };
  const cellOf = ({ x }: Point) => cellAt(cells, variantOf(cell), along.key, cell, x);
  return (
    <>
      {ends && isClear && renderFigure(`Fastest at ${along.name} ${ends.best.x}`, cellOf(ends.best))}
      {renderFigure(`${label} at ${cellName(cell)}`, cell)}
      {ends && isClear && renderFigure(`Slowest at ${along.name} ${ends.worst.x}`, cellOf(ends.worst))}
      {ends && !isClear && (
        <Text size="sm" className="dim">
          {areKnown
            ? "No clear difference between the fastest and the slowest: their intervals within this run overlap."
            : "Too few sessions to say which is fastest."}
        </Text>
      )}
      <Quality cell={cell} />
      <RanAs cell={cell} />
    </>
  );
}

function ScalingOf({ cells, choice, chosen, view }: { cells: readonly CellDocument[]; choice: Choice; chosen: CellDocument; view: ResultView }) {
  const isCores = view.tab === "cores";
  const along = isCores ? ALONG.cores : ALONG.batches;
  const scaling = useMemo<Scaling>(() => {
    const { label, unit, isRate } = METRICS[view.metric];
    return {
      along: along.name,
      metric: label,
      unit,
      isRate,
      hasIdeal: isCores,
      intervals: "this run",
      series: choice.variants.map((variant, index) => {
        const engine = variant.value.split(" ")[0] ?? "";
        const isAlone = choice.variants.filter(({ value }) => value.split(" ")[0] === engine).length === 1;
        return {
          name: variant.label,
          look: (isDark: boolean) => (isAlone ? engineLook(engine, isDark) : look(index, isDark)),
          points: pointsOf(cells, variant.value, along.key, chosen, view.metric),
        };
      }),
    };
  }, [along, cells, choice.variants, chosen, isCores, view.metric]);
  const draw = useMemo(() => drawScaling(scaling), [scaling]);
  const held = isCores ? `batch size ${chosen.batch_size}` : `${chosen.cores} ${chosen.cores === 1 ? "core" : "cores"}`;
  const values = new Set(scaling.series.flatMap(({ points }) => points.map(({ x }) => x)));
  return (
    <Stack gap={4}>
      <Chart
        title={`${isCores ? "Core scaling" : "Batch size scaling"} at ${held}`}
        legend={scalingLegend(scaling)}
        summary={scalingSummary(scaling)}
        reading={
          isCores
            ? "Bars are 95 % intervals over this run's sessions. The dashed line is perfect scaling from the fewest cores; the percentage says how much of it was reached. Hollow marks are noisy."
            : "Bars are 95 % intervals over this run's sessions. Hollow marks are noisy."
        }
        draw={draw}
        table={scalingTable(scaling)}
      />
      {values.size < 2 && (
        <Text size="sm" className="dim">
          Only one {isCores ? "core count" : "batch size"} was measured. Choose “Duplicate and edit” in the menu to measure more.
        </Text>
      )}
    </Stack>
  );
}

function IterationsOf({ cell, runId }: { cell: CellDocument; runId: string | null }) {
  const isThere = runId !== null && cell.latency_ms !== null;
  const query = useQuery({ ...distributionQuery(runId ?? "", cell.number, MOST_POINTS), enabled: isThere });
  const distribution = query.data;
  const iterations = useMemo(
    () => distribution && { distribution, typical: withinRun(msPerBatch(cell)), look: (isDark: boolean) => engineLook(cell.engine, isDark) },
    [distribution, cell],
  );
  const draw = useMemo(() => iterations && drawIterations(iterations), [iterations]);
  if (!isThere || distribution === null) return <Text className="dim">This cell has no samples.</Text>;
  if (query.isError) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!iterations || !draw) return <Skeleton height={340} />;
  return (
    <Chart
      title={`Iterations at ${cellName(cell)}`}
      summary={iterationsSummary(iterations)}
      reading="Each point is one sample, in the order they were taken. The band holds eight of ten; the line is the median. Hollow points are outliers: flagged, never removed. The bar at the right is the 95 % interval over this run's sessions."
      draw={draw}
      table={iterationsTable(iterations)}
    />
  );
}
