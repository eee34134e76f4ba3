import { Anchor, Badge, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { engineTitle } from "@/api/engines";
import { profileDiffQuery, profileQuery, profileResultQuery } from "@/api/queries";
import type { ProfileDetailsDocument, ProfileDiffDocument, ProfileDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { CHANGES_LEGEND, barsHeight, drawChanges } from "@/charts/profileBars";
import { changeSummary, changeTable, changesOf, deltaText, ranText, sliceText, standingText, unitOfChanges, type By, type Change } from "@/charts/profileRows";
import { intervalOf, plural } from "@/format/numbers";
import { NoiseBadge } from "@/ui/badges";
import { Caution } from "@/ui/Caution";
import { DataTable, type Column } from "@/ui/DataTable";
import { Figure } from "@/ui/Figure";
import { Trouble } from "@/ui/Trouble";

type Side = { profile: ProfileDetailsDocument; result: ProfileDocument };
type Jump = (name: string, of: ProfileDocument, at: { model: number; profile: number }) => void;
type Props = { a: Side; otherId: number; by: By; isTable: boolean; jump: Jump };

/** What another profile spends more or less on: the largest change first. */
export function ProfileDiff({ a, otherId, by, isTable, jump }: Props) {
  const other = useQuery(profileQuery(otherId));
  const run = other.data?.agreement?.run_id;
  const result = useQuery({ ...profileResultQuery(run ?? ""), enabled: run !== undefined });
  const diff = useQuery({ ...profileDiffQuery(a.profile.id, otherId, by === "node" ? "node" : "op"), enabled: run !== undefined });
  const error = other.error ?? result.error ?? diff.error;
  if (error) return <Trouble error={error} retry={() => void Promise.all([other.refetch(), result.refetch(), diff.refetch()])} />;
  if (other.data && run === undefined) return <Text>Profile #{otherId} has no result yet. Run it first.</Text>;
  if (!other.data || !result.data || !diff.data) return <Skeleton height={420} />;
  return <Changes a={a} b={{ profile: other.data, result: result.data }} diff={diff.data} by={by} isTable={isTable} jump={jump} />;
}

function Changes({ a, b, diff, by, isTable, jump }: { a: Side; b: Side; diff: ProfileDiffDocument; by: By; isTable: boolean; jump: Jump }) {
  const changes = useMemo(() => changesOf(diff.changes), [diff]);
  const labels = useMemo(() => ({ a: sideName(a), b: sideName(b) }), [a, b]);
  const draw = useMemo(() => drawChanges(changes), [changes]);
  const open = (name: string) => {
    const change = changes.find((other) => other.name === name);
    const side = change?.b ? b : a;
    const first = (change?.b ?? change?.a)?.names[0] ?? name;
    jump(first, side.result, { model: side.profile.model_id, profile: side.profile.id });
  };
  const isOnly = changes.some((other) => !other.a || !other.b);
  return (
    <Stack gap="sm">
      {diff.warning !== null && <Caution title="Measured under unlike conditions">{diff.warning}</Caution>}
      <Group gap="xl" align="flex-start">
        <Total label={`${labels.a} (A)`} side={diff.a} />
        <Total label={`${labels.b} (B)`} side={diff.b} />
        <Figure label="B − A" value={diff.delta_ms} interval={null} unit="ms" basis={diff.verdict} />
      </Group>
      {isTable ? (
        <ChangeTable changes={changes} by={by} open={open} />
      ) : (
        <Chart
          title={`What changes from ${labels.a} (A) to ${labels.b} (B), by ${by}`}
          legend={CHANGES_LEGEND}
          summary={changeSummary(changes)}
          reading="A is the outline, B is filled; the largest change first. Grey: the intervals overlap, so there is no clear difference. Click a bar or its name to see it in the graph."
          draw={draw}
          table={changeTable(changes, labels, by)}
          height={barsHeight(changes.length, true)}
          pick={open}
        />
      )}
      {isOnly && (
        <Text size="sm" className="dim">
          Nodes are matched by name, then by the model's nodes they were made from, then by operator and position. A node without a counterpart may still be the
          same work: engines fuse operators and do not always report it.
        </Text>
      )}
    </Stack>
  );
}

/** Unique for each profile: names may repeat, numbers do not. */
const sideName = ({ profile, result }: Side): string => `#${profile.id} ${profile.name}, ${engineTitle(result.engine)}`;

/** A whole call of one side, and how far to trust it. */
function Total({ label, side }: { label: string; side: ProfileDiffDocument["a"] }) {
  const basis = (
    <Group gap="xs">
      per call, n = {plural(side.repeats, "repeat")} <NoiseBadge of={side} />
    </Group>
  );
  return <Figure label={label} value={side.latency_ms.value} interval={intervalOf(side.latency_ms)} unit="ms" basis={basis} />;
}

function ChangeTable({ changes, by, open }: { changes: readonly Change[]; by: By; open: (name: string) => void }) {
  const unit = unitOfChanges(changes);
  const columns: Column<Change>[] = [
    {
      id: "name",
      header: by === "operator" ? "Operator" : "Node",
      value: (row) => row.name,
      show: (row) => (
        <Anchor component="button" type="button" size="sm" onClick={() => open(row.name)}>
          {row.name}
        </Anchor>
      ),
    },
    { id: "a", header: "A", value: (row) => row.a?.ms ?? null, show: (row) => (row.a ? sliceText(row.a, unit) : "–"), isNumber: true },
    { id: "b", header: "B", value: (row) => row.b?.ms ?? null, show: (row) => (row.b ? sliceText(row.b, unit) : "–"), isNumber: true },
    { id: "delta", header: "B − A", value: (row) => row.deltaMs, show: (row) => deltaText(row.deltaMs, unit), isNumber: true },
    {
      id: "verdict",
      header: "Verdict",
      value: (row) => standingText(row),
      show: (row) => (
        <Badge variant="light" tt="none" color={row.verdict === "faster" ? "green" : row.verdict === "slower" ? "orange" : "gray"}>
          {standingText(row)}
        </Badge>
      ),
    },
    { id: "in_a", header: "In A", value: (row) => ranText(row.a) },
    { id: "in_b", header: "In B", value: (row) => ranText(row.b) },
  ];
  return <DataTable label={`Changes by ${by}`} rows={changes} columns={columns} rowId={(row) => row.name} />;
}
