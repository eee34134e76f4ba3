import { Anchor, Checkbox, Text } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";

import { COUNT_AXES, SIZE_AXES, sizeValues } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { LIST_FIGURES, figureOf, type Format } from "@/api/figureColumns";
import { msPerItem, type MeasuredFigure } from "@/api/figures";
import type { BenchmarkSummary } from "@/api/schema.gen";
import { Versus } from "@/features/benchmarks/Baseline";
import { BenchmarkMenu } from "@/features/benchmarks/BenchmarkMenu";
import { intervalOf } from "@/features/benchmarks/results/cells";
import { stateWord } from "@/features/benchmarks/states";
import { formatFigure, percent } from "@/format/numbers";
import { intervalWords, capitalize } from "@/format/words";
import { Ago } from "@/ui/Ago";
import { DataTable, type Column } from "@/ui/DataTable";
import { StateBadge, WorstNoiseBadge } from "@/ui/badges";

type Row = BenchmarkSummary;
type Props = { rows: readonly Row[]; selected: ReadonlySet<number>; select: (id: number, isSelected: boolean) => void; onCreated: (id: number) => void };

function figureColumns(areFirst: boolean): Column<Row>[] {
  return LIST_FIGURES.filter(({ is_among_first }) => is_among_first === areFirst).map(({ name, label, format, in_lists }) => ({
    id: name,
    header: label,
    value: (row: Row) => figureOf(row.summary[name])?.value ?? null,
    show: (row: Row) => <FigureText figure={figureOf(row.summary[name])} n={null} format={format} />,
    isNumber: true,
    isHidden: in_lists === "wanted",
  }));
}

/** The list as a table: one line each, the best cell's numbers. */
export function BenchmarkTable({ rows, selected, select, onCreated }: Props) {
  const navigate = useNavigate();
  const columns: Column<Row>[] = [
    {
      id: "select",
      header: "",
      value: (row) => (selected.has(row.id) ? 1 : 0),
      show: (row) => (
        <Checkbox checked={selected.has(row.id)} onChange={(event) => select(row.id, event.currentTarget.checked)} aria-label={`Select benchmark ${row.id}`} />
      ),
      width: 44,
    },
    {
      id: "name",
      header: "Name",
      value: (row) => row.name,
      show: (row) => (
        <Anchor component={Link} to={`/p/${row.project_id}/benchmarks/${row.id}`} size="sm" id={`benchmark-${row.id}`} data-benchmark={row.id}>
          <Text span size="sm" inherit truncate display="block" title={row.name}>
            #{row.id} {row.name}
          </Text>
        </Anchor>
      ),
      isFlexible: true,
    },
    {
      id: "menu",
      header: "",
      value: () => null,
      show: (row) => <BenchmarkMenu row={row} onCreated={onCreated} />,
      width: 44,
    },
    { id: "model", header: "Model", value: (row) => row.model_name, isHidden: true },
    { id: "engine", header: "Engine", value: (row) => row.axes.engines.map(engineTitle).join(", ") || null, show: (row) => <Engines of={row} /> },
    { id: "device", header: "Device", value: (row) => row.axes.devices.join(", ") || null, isHidden: true },
    { id: "precision", header: "Precision", value: (row) => row.axes.precisions.join(", ") || null, isHidden: true },
    ...COUNT_AXES.map(({ field, short, column, usual }) => ({
      id: short,
      header: capitalize(short),
      value: (row: Row) => row.axes[field].join(", "),
      show: (row: Row) => <Counts of={row.axes[field]} />,
      isHidden: column === "wanted" || (column === "unusual" && rows.every((row) => row.axes[field].every((value) => value === usual))),
    })),
    ...SIZE_AXES.map(({ short, label }) => ({
      id: short,
      header: capitalize(label),
      value: (row: Row) => sizesText(row),
      isHidden: rows.every((row) => sizesText(row) === ""),
    })),
    {
      id: "ms_item",
      header: "ms per item",
      value: (row) => msPerItem(row.summary)?.value ?? null,
      show: (row) => <FigureText figure={msPerItem(row.summary)} n={row.summary.sessions} />,
      isNumber: true,
    },
    ...figureColumns(true),
    {
      id: "accuracy",
      header: "Accuracy",
      value: (row) => row.summary.accuracy,
      show: (row) => (row.summary.accuracy === null ? "–" : percent(row.summary.accuracy, 1)),
      isNumber: true,
      isHidden: true,
    },
    {
      id: "versus",
      header: "vs baseline",
      value: (row) => row.vs_baseline?.ratio?.value ?? null,
      show: (row) => (row.vs_baseline ? <Versus id={row.id} versus={row.vs_baseline} isShort /> : "–"),
      isHidden: true,
    },
    {
      id: "quality",
      header: "Quality",
      value: (row) => row.worst_noise?.noise ?? null,
      show: (row) => (row.worst_noise ? <WorstNoiseBadge of={row} isShort /> : "–"),
    },
    {
      id: "state",
      header: "Status",
      value: (row) => row.state,
      show: (row) => <StateBadge state={row.state}>{row.state === "failed" ? stateWord(row) : null}</StateBadge>,
    },
    { id: "when", header: "When", value: (row) => row.last_run_at ?? row.created_at, show: (row) => <Ago at={row.last_run_at ?? row.created_at} /> },
    ...figureColumns(false),
  ];
  return (
    <>
      <Text size="xs" className="dim">
        ± is where a repeat is expected (95 %); of results without it, how far the sessions of their run agree.
      </Text>
      <DataTable
        label="Benchmarks"
        rows={rows}
        columns={columns}
        rowId={(row) => String(row.id)}
        rowHeight={52}
        isDense
        open={(row) => void navigate({ to: "/p/$pid/benchmarks/$bid", params: { pid: row.project_id, bid: row.id } })}
      />
    </>
  );
}

/** "seq 64, 128": each dimension with its sizes. */
function sizesText(row: Row): string {
  return Object.entries(sizeValues(row.axes))
    .map(([name, sizes]) => `${name} ${sizes.join(", ")}`)
    .join(" · ");
}

function Engines({ of }: { of: Row }) {
  const names = of.axes.engines.map(engineTitle).join(", ");
  return (
    <Text span size="sm" truncate display="block" maw={112} title={names}>
      {names || "–"}
    </Text>
  );
}

function Counts({ of }: { of: readonly number[] }) {
  const text = of.join(", ");
  return (
    <Text span size="sm" truncate display="block" maw={72} title={text}>
      {text}
    </Text>
  );
}

/** The header of the column says what it is. */
function FigureText({ figure, n, format = "amount" }: { figure: MeasuredFigure | null; n: number | null; format?: Format }) {
  const quantity = formatFigure(format, figure?.value, intervalOf(figure), "");
  return (
    <>
      {quantity.value}
      <Text size="xs" lh={1.2} className="dim" title={intervalWords(figure) || undefined}>
        {quantity.spread} {figure && n !== null && `n ${n}`}
      </Text>
    </>
  );
}
