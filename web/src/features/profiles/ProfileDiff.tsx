import { Alert, Anchor, Badge, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { profileQuery, profileResultQuery } from "@/api/queries";
import type { ProfileDocument, ProfileTold } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { barsHeight, drawChanges } from "@/charts/profileBars";
import { changeSummary, changeTable, changesOf, deltaText, sliceText, slicesOf, unitOfChanges, type By, type Change } from "@/charts/profileRows";
import { DataTable, type Column } from "@/ui/DataTable";
import { Trouble } from "@/ui/Trouble";

type Side = { profile: ProfileTold; result: ProfileDocument };
type Jump = (name: string, of: ProfileDocument, at: { model: number; profile: number }) => void;
type Props = { a: Side; otherId: number; by: By; isTable: boolean; jump: Jump };

/** What another profile spends more or less on: the largest change first. */
export function ProfileDiff({ a, otherId, by, isTable, jump }: Props) {
  const other = useQuery(profileQuery(otherId));
  const run = other.data?.agreement?.run_id;
  const result = useQuery({ ...profileResultQuery(run ?? ""), enabled: run !== undefined });
  const error = other.error ?? result.error;
  if (error) return <Trouble error={error} again={() => void Promise.all([other.refetch(), result.refetch()])} />;
  if (other.data && run === undefined) return <Text>Profile #{otherId} has no result yet. Run it first.</Text>;
  if (!other.data || !result.data) return <Skeleton height={420} />;
  return <Changes a={a} b={{ profile: other.data, result: result.data }} by={by} isTable={isTable} jump={jump} />;
}

function Changes({ a, b, by, isTable, jump }: { a: Side; b: Side; by: By; isTable: boolean; jump: Jump }) {
  const changes = useMemo(() => changesOf(slicesOf(a.result, by), slicesOf(b.result, by)), [a.result, b.result, by]);
  const labels = useMemo(() => ({ a: `#${a.profile.id} ${a.profile.name}`, b: `#${b.profile.id} ${b.profile.name}` }), [a.profile, b.profile]);
  const draw = useMemo(() => drawChanges(changes, labels), [changes, labels]);
  const open = (name: string) => {
    const side = changes.find((one) => one.name === name)?.b ? b : a;
    jump(name, side.result, { model: side.profile.model_id, profile: side.profile.id });
  };
  const others = differences(a, b);
  const isOnly = changes.some((one) => !one.a || !one.b);
  return (
    <Stack gap="sm">
      {others.length > 0 && (
        <Alert color="yellow" variant="light" title="They did not do the same work">
          {others.join(" · ")}
        </Alert>
      )}
      {isTable ? (
        <ChangeTable changes={changes} by={by} open={open} />
      ) : (
        <Chart
          title={`What changes from ${labels.a} (A) to ${labels.b} (B), by ${by}`}
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
          What is only in one of them may be the same work under another name: engines fuse operators (a Conv with its Relu, a quantized
          Conv with what prepares its input) and call them differently.
        </Text>
      )}
    </Stack>
  );
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
      value: (row) => row.verdict,
      show: (row) => (
        <Badge variant="light" tt="none" color={row.verdict === "faster" ? "green" : row.verdict === "slower" ? "orange" : "gray"}>
          {row.verdict}
        </Badge>
      ),
    },
  ];
  return <DataTable label={`Changes by ${by}`} rows={changes} columns={columns} rowId={(row) => row.name} />;
}

/** What was not the same, beyond the model: whoever compares must know. */
function differences(a: Side, b: Side): string[] {
  const settings: [string, (of: ProfileDocument) => string | number | null][] = [
    ["Engine", (of) => `${of.engine} ${of.engine_version}`],
    ["Device", (of) => of.device],
    ["Batch size", (of) => of.batch_size],
    ["Cores", (of) => of.cores],
    ["Machine", (of) => of.host.fingerprint],
  ];
  return settings.flatMap(([name, value]) => (value(a.result) === value(b.result) ? [] : [`${name}: ${value(a.result)} in A, ${value(b.result)} in B`]));
}
