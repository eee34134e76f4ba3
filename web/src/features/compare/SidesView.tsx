import { Alert, Anchor, Button, Card, Group, List, Skeleton, Stack, Text } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { judgementQuery } from "@/api/queries";
import type { CellJudgementDocument } from "@/api/parts";
import { Differences } from "@/features/compare/Differences";
import { FurtherFigures } from "@/features/compare/FurtherFigures";
import { MeasureInTurns } from "@/features/compare/MeasureInTurns";
import { Plots } from "@/features/compare/Plots";
import { Limit } from "@/features/compare/Limit";
import { VerdictCard } from "@/features/compare/VerdictCard";
import { furtherRows } from "@/features/compare/furtherFigures";
import { judgementPairs, nearestPair, type Side } from "@/features/compare/picks";
import type { Change, Chosen } from "@/features/compare/search";
import { combineVerdicts } from "@/features/compare/verdicts";
import { Trouble } from "@/ui/Trouble";

type Props = { pid: number; a: Side; b: Side; more: readonly Side[]; chosen: Chosen; change: Change };

/** A against B, and any further series. */
export function SidesView({ pid, a, b, more, chosen, change }: Props) {
  const judgements = useQueries({ queries: judgementPairs(a, b).map(([pickA, pickB]) => judgementQuery(pickA, pickB)) });
  const failed = judgements.find((query) => query.isError);
  const isPending = judgements.some((query) => query.isPending);
  const answers = judgements.flatMap((query) => query.data ?? []);
  const verdict = answers.length === judgements.length ? combineVerdicts(answers) : null;
  const sides = useMemo(() => [a, b, ...more], [a, b, more]);
  const nearest = nearestPair(a, b);
  const isNearest = nearest?.[0] === a.pick && nearest[1] === b.pick;
  return (
    <>
      {failed && <Trouble error={failed.error} retry={() => judgements.forEach((query) => void query.refetch())} />}
      {isPending && <Skeleton height={110} />}
      {!isPending && !failed && (!verdict || verdict.whyNot) && (
        <NotComparable why={verdict?.whyNot ?? "the two have no cell with the same batch size and cores"}>
          {nearest && !isNearest && (
            <Button size="xs" variant="default" onClick={() => change({ a: nearest[0], b: nearest[1], comparison: undefined })}>
              Compare the nearest pair of cells
            </Button>
          )}
        </NotComparable>
      )}
      {verdict && !verdict.whyNot && (
        <VerdictCard
          sentence={verdict.sentence}
          isRanked={verdict.cells.some((cell) => cell.faster !== null)}
          basis={<Basis cells={verdict.cells} change={change} />}
          settings={verdict.settings}
          actions={<MeasureInTurns pid={pid} a={a} b={b} cells={verdict.cells} change={change} />}
        >
          <Remarks cells={verdict.cells} />
        </VerdictCard>
      )}
      <Plots sides={sides} cells={verdict?.cells ?? []} chosen={chosen} change={change} />
      <FurtherFigures rows={furtherRows(a, b, verdict?.cells ?? [])} />
      <Limit sides={sides} limit={chosen.limit} change={change} />
      {verdict && <Differences settings={verdict.settings} isDiffOnly={chosen.diff ?? true} change={change} />}
    </>
  );
}

function NotComparable({ why, children }: { why: string; children: React.ReactNode }) {
  return (
    <Alert color="gray" variant="light" icon={<IconInfoCircle />} title="These two cannot be compared" role="status">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">Why: {why}. A ratio would mislead, so none is shown.</Text>
        {children}
      </Stack>
    </Alert>
  );
}

/** What the verdict rests on. */
function Basis({ cells, change }: { cells: readonly CellJudgementDocument[]; change: Change }) {
  const [only] = cells;
  const turns = cells.filter((cell) => cell.basis === "alternation");
  return (
    <Group gap="xs">
      {only && cells.length === 1 && only.basis !== "alternation" && (
        <Text size="sm" className="dim">
          n = {only.a.sessions} / {only.b.sessions} sessions ({only.a.samples} / {only.b.samples} samples), which the 95 % interval is over.
        </Text>
      )}
      {turns.map((cell) => (
        <Text key={cell.a.number} size="sm" className="dim">
          {cells.length > 1 && `${place(cell)}: `}n = {cell.pairs} pairs of sessions, measured in alternation, which is more precise than separate runs
          {cell.comparison_id !== null && (
            <>
              {" ("}
              <Anchor component="button" type="button" size="sm" onClick={() => change({ comparison: cell.comparison_id ?? undefined })}>
                comparison {cell.comparison_id}
              </Anchor>
              {")"}
            </>
          )}
          .
        </Text>
      ))}
    </Group>
  );
}

/** Where both were measured: a cell's name begins with its engine, which may be another one for B. */
const place = (cell: CellJudgementDocument): string => cell.a.name.split(" · ").slice(1).join(" · ") || cell.a.name;

/** Remarks about the comparison, each once. */
function Remarks({ cells }: { cells: readonly CellJudgementDocument[] }) {
  const reasons = [...new Set(cells.filter((cell) => cell.why && cell.ratio).map((cell) => cell.why))];
  const noisy = cells.filter((cell) => [cell.a, cell.b].some(({ noise }) => noise && noise !== "quiet"));
  if (cells.length <= 1 && reasons.length + noisy.length === 0) return null;
  return (
    <Card padding="xs" withBorder={false} p={0}>
      <List size="sm" spacing={2}>
        {cells.length > 1 &&
          cells.map((cell) => (
            <List.Item key={`${cell.a.number} ${cell.b.number}`}>
              {place(cell)}: {cell.sentence}
            </List.Item>
          ))}
        {reasons.map((why) => (
          <List.Item key={why}>Note: {why.replace(/\.$/, "")}.</List.Item>
        ))}
        {noisy.length > 0 && (
          <List.Item>
            ⚠{" "}
            {noisy.length === cells.length
              ? "Measured on a machine that was not quiet"
              : `${noisy.length} of ${cells.length} were measured on a machine that was not quiet`}
            : these are hollow in the charts.
          </List.Item>
        )}
      </List>
    </Card>
  );
}
