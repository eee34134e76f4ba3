import { Anchor, Badge, Text, Tooltip } from "@mantine/core";
import { useMemo } from "react";

import type { ProfileDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { MOST_BARS, barsHeight, drawBars } from "@/charts/profileBars";
import { shareText, sliceSummary, sliceTable, sliceText, slicesOf, unitOf, type By, type Limit, type Slice, type Unit } from "@/charts/profileRows";
import { drawTreemap } from "@/charts/profileTreemap";
import { NOTHING, decimals, fixedText } from "@/format/numbers";
import { DataTable, type Column } from "@/ui/DataTable";

type Props = { result: ProfileDocument; by: By; view: "bars" | "treemap" | "table"; isShare: boolean; jump: (name: string) => void };

/** Where the time of a call goes. */
export function Breakdown({ result, by, view, isShare, jump }: Props) {
  const slices = useMemo(() => slicesOf(result, by), [result, by]);
  const bars = useMemo(() => drawBars(slices, isShare), [slices, isShare]);
  const tree = useMemo(() => drawTreemap(slicesOf(result, "operator"), slicesOf(result, "node")), [result]);
  if (view === "table") return <SliceTable slices={slices} by={by} jump={jump} hasLimits={result.roof.ridge_flop_per_byte !== null} />;
  const common = { summary: sliceSummary(slices, by), table: sliceTable(slices, by) };
  if (view === "treemap") {
    return (
      <Chart
        key="treemap"
        {...common}
        title="Time by operator and node"
        reading="Areas are times of one call; an operator holds its nodes. Colours are kinds of work. Click to zoom in; the path below leads back."
        draw={tree}
        height={460}
      />
    );
  }
  const left = slices.length - MOST_BARS;
  return (
    <Chart
      {...common}
      title={`Time by ${by}${left > 0 ? `, the ${MOST_BARS} slowest of ${slices.length}` : ""}`}
      reading="The slowest first; whiskers are the 95 % interval over repeats. Click a bar or its name to see it in the graph."
      draw={bars}
      height={barsHeight(slices.length)}
      pick={jump}
    />
  );
}

type TableProps = { slices: readonly Slice[]; by: By; jump: (name: string) => void; hasLimits: boolean };

function SliceTable({ slices, by, jump, hasLimits }: TableProps) {
  const unit = unitOf(slices);
  const link = (row: Slice) => (
    <Anchor component="button" type="button" size="sm" onClick={() => jump(row.name)}>
      {row.name}
    </Anchor>
  );
  const columns: Column<Slice>[] = [
    { id: "name", header: by === "operator" ? "Operator" : "Node", value: (row) => row.name, show: link },
    ...(by === "node"
      ? [{ id: "op", header: "Operator", value: (row: Slice) => row.op }]
      : [{ id: "nodes", header: "Nodes", value: (row: Slice) => row.nodes, isNumber: true }]),
    { id: "ms", header: "Time", value: (row) => row.ms, show: (row) => <Time row={row} unit={unit} />, isNumber: true },
    { id: "share", header: "Share", value: (row) => row.share, show: (row) => shareText(row), isNumber: true },
    { id: "calls", header: "Calls", value: (row) => row.calls, isNumber: true },
    { id: "gflops", header: "GFLOP/s", value: (row) => row.limit.gflops, show: (row) => rate(row.limit.gflops), isNumber: true },
    { id: "gbytes", header: "GB/s", value: (row) => row.limit.gbytes, show: (row) => rate(row.limit.gbytes), isNumber: true },
    // Without the machine's peaks no row has a limit: the page says so once, with what to do.
    ...(hasLimits ? [{ id: "limit", header: "Limit", value: (row: Slice) => row.limit.bound, show: (row: Slice) => <LimitBadge limit={row.limit} /> }] : []),
  ];
  return <DataTable label={`Time by ${by}`} rows={slices} columns={columns} rowId={(row) => `${row.name}\n${row.op}\n${row.ms}`} />;
}

/** A dash says why there is no time. */
function Time({ row, unit }: { row: Slice; unit: Unit }) {
  return row.unknown === null ? sliceText(row, unit) : <Unknown why={row.unknown} />;
}

function Unknown({ why }: { why: string }) {
  return (
    <Tooltip label={why} multiline maw={420}>
      <Text span className="dim" tabIndex={0}>
        {NOTHING}
      </Text>
    </Tooltip>
  );
}

const rate = (value: number | null) => (value === null ? NOTHING : fixedText(value, decimals(value, 3)));
const COLORS = { compute: "blue", memory: "grape", overhead: "gray" } as const;

/** What limits it; the tooltip says why. */
function LimitBadge({ limit }: { limit: Limit }) {
  if (limit.bound === null) return <Unknown why={limit.reason} />;
  return (
    <Tooltip label={limit.reason} multiline maw={420}>
      <Badge color={COLORS[limit.bound]} variant="light" tt="none" tabIndex={0}>
        {limit.bound}
      </Badge>
    </Tooltip>
  );
}
