import { Alert, Button, Card, Code, Group, Progress, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { SIDE_AXES, type SideAxisName } from "@/api/axes";
import { api, answerOf } from "@/api/client";
import { engineTitle } from "@/api/engines";
import { useJobProgress } from "@/api/progress";
import { comparisonQuery, comparisonResultQuery, jobQuery } from "@/api/queries";
import type { ComparisonDetailsDocument, ComparisonDocument, SettingDocument, SideDocument, SideSettingsDocument } from "@/api/schema.gen";
import { Chart } from "@/charts/Chart";
import { look } from "@/charts/palette";
import { drawRatios, isUnusable, ratiosHeight, ratiosSummary, ratiosTable, type Ratio } from "@/charts/ratios";
import { Differences } from "@/features/compare/Differences";
import { VerdictCard } from "@/features/compare/VerdictCard";
import type { Change, Chosen } from "@/features/compare/search";
import { remainingText, fixedText, plural, ratio } from "@/format/numbers";
import { capitalize } from "@/format/words";
import { Copy } from "@/ui/Copy";
import { NoiseBadge, StateBadge, UnusableBadge } from "@/ui/badges";
import { Trouble } from "@/ui/Trouble";

const LOOKS = { a: (isDark: boolean) => look(0, isDark), b: (isDark: boolean) => look(1, isDark) };

/** A pair that is or was measured in alternation. */
export function ComparisonView({ id, chosen, change }: { id: number; chosen: Chosen; change: Change }) {
  const comparison = useQuery(comparisonQuery(id));
  if (comparison.isError) return <Trouble error={comparison.error} retry={() => void comparison.refetch()} />;
  if (comparison.isPending) return <Skeleton height={200} />;
  const details = comparison.data;
  const isUnderWay = details.state === "running" || details.state === "queued";
  return (
    <>
      {isUnderWay && <UnderWay comparison={details} />}
      {details.state === "draft" && <Text>Never run.</Text>}
      {!isUnderWay && details.state !== "done" && details.latest_run && <Ended comparison={details} />}
      {details.summary.ratio !== null && !isUnderWay && <Decided comparison={details} />}
      <Differences settings={settingsOf(details)} isDiffOnly={chosen.diff ?? true} change={change} />
      <Card padding="xs">
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" className="dim" style={{ flexShrink: 0 }}>
            Same as
          </Text>
          <Code style={{ overflowWrap: "anywhere" }}>{details.command}</Code>
          <Copy text={details.command} label="Copy the command" />
        </Group>
      </Card>
    </>
  );
}

function UnderWay({ comparison }: { comparison: ComparisonDetailsDocument }) {
  const jobId = comparison.latest_run?.job_id ?? null;
  const liveProgress = useJobProgress(jobId);
  const job = useQuery({ ...jobQuery(jobId ?? 0), enabled: jobId !== null });
  const progress = liveProgress ?? job.data?.progress;
  const cancel = useMutation({
    mutationFn: (job_id: number) => answerOf(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id } } })),
  });
  const done = progress?.units_done ?? 0;
  const planned = progress?.units_planned ?? 0;
  const half = progress?.relative_half_width;
  const so = progress?.ratio;
  return (
    <Card component="section" aria-label="Verdict">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <StateBadge state={comparison.state} />
            <Text fw={600}>{comparison.name}</Text>
          </Group>
          {jobId !== null && (
            <Button size="compact-sm" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate(jobId)}>
              Cancel
            </Button>
          )}
        </Group>
        <Progress value={planned > 0 ? Math.min(100, (100 * done) / planned) : 0} aria-label="Progress of the comparison" />
        <Text size="sm">
          {so == null
            ? comparison.state === "queued"
              ? job.data?.reason || "Waiting for its turn"
              : progress?.doing || "Starting"
            : `So far B takes ${ratio(so, half == null ? null : [so * Math.max(0, 1 - half), so * (1 + half)])} the time of A; the verdict comes at the end.`}
        </Text>
        <Text size="sm" className="dim">
          {planned > 0 && `${Math.min(done, planned)} of ${plural(planned, "pair")}`}
          {progress?.remaining_s != null && ` · ${remainingText(progress.remaining_s)}`}
        </Text>
        {cancel.isError && <Trouble error={cancel.error} />}
      </Stack>
    </Card>
  );
}

function Ended({ comparison }: { comparison: ComparisonDetailsDocument }) {
  const run = comparison.latest_run;
  const resume = useMutation({
    mutationFn: (job_id: number) => answerOf(api.POST("/api/v1/jobs/{job_id}/resume", { params: { path: { job_id } } })),
  });
  const jobId = run?.job_id ?? null;
  return (
    <Alert color={comparison.state === "failed" ? "red" : "gray"} variant="light" title={run?.failure?.title ?? `This comparison was ${comparison.state}`}>
      <Stack gap="xs" align="flex-start">
        {run?.failure?.detail && <Text size="sm">{run.failure.detail}</Text>}
        {run?.failure?.fix && <Text size="sm">{run.failure.fix}</Text>}
        <Text size="sm">All measured pairs are kept.</Text>
        {jobId !== null && (
          <Button size="xs" variant="default" loading={resume.isPending} onClick={() => resume.mutate(jobId)}>
            Resume
          </Button>
        )}
        {resume.isError && <Trouble error={resume.error} />}
      </Stack>
    </Alert>
  );
}

function Decided({ comparison }: { comparison: ComparisonDetailsDocument }) {
  const { summary, latest_run: run } = comparison;
  const result = useQuery({ ...comparisonResultQuery(run?.id ?? ""), enabled: run != null });
  const clear = summary.verdict === "faster" ? "b" : summary.verdict === "slower" ? "a" : null;
  const ratios: Ratio[] = useMemo(() => {
    const { value, low, high } = summary.ratio ?? { value: null, low: null, high: null };
    if (value === null || low === null || high === null) return [];
    return [{ row: "B to A", value, low, high, faster: clear, basis: "alternation" }];
  }, [summary, clear]);
  const draw = useMemo(() => drawRatios(ratios, LOOKS), [ratios]);
  return (
    <>
      <VerdictCard
        sentence={comparison.sentence ?? "No verdict yet."}
        isRanked={clear !== null}
        basis={
          <Group gap="xs">
            {result.data && (
              <Text size="sm" className="dim">
                n = {plural(result.data.pairs, "pair")} of sessions in alternation, in {plural(result.data.processes, "process", "processes")}
                {run && `; run #${run.number}`}.
              </Text>
            )}
            {ratios.some(isUnusable) ? <UnusableBadge why="The interval is too wide for a verdict." /> : <NoiseBadge of={result.data ?? summary} />}
          </Group>
        }
      >
        {result.data?.pairs_needed != null && <Text size="sm">About {plural(result.data.pairs_needed, "pair")} in all would decide it.</Text>}
        {result.data?.notes.map((note) => (
          <Text key={note} size="sm" className="dim">
            {capitalize(note)}
          </Text>
        ))}
      </VerdictCard>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Sides result={result.data ?? null} />
        {ratios.length > 0 && (
          <Chart
            title="Ratio of B to A"
            summary={ratiosSummary(ratios)}
            reading="Left of the line, B takes less time than A; right of it, more. Grey: no clear difference."
            draw={draw}
            table={ratiosTable(ratios)}
            height={ratiosHeight(ratios)}
          />
        )}
      </SimpleGrid>
    </>
  );
}

function Sides({ result }: { result: ComparisonDocument | null }) {
  if (!result) return <Skeleton height={160} />;
  const side = (name: "A" | "B", document: SideDocument) => (
    <Card padding="sm">
      <Text size="sm" className="dim">
        {name} · {document.label}
      </Text>
      <Text fw={600}>
        {engineTitle(document.engine)} {document.effective.engine_version}
      </Text>
      <Text size="sm">
        {plural(document.cores, "core")} · batch {document.batch_size} · {document.device}
        {document.precision && ` · ${document.precision}`}
      </Text>
      <Text size="xs" className="dim">
        {levelOf(document)}; for orientation only: the result is the ratio
      </Text>
    </Card>
  );
  return (
    <Stack gap="xs">
      {side("A", result.a)}
      {side("B", result.b)}
    </Stack>
  );
}

function levelOf(side: SideDocument): string {
  const details = Object.entries(side.latency_ms).flatMap(([name, level]) => (level?.value == null ? [] : [`${name} ${fixedText(level.value, 4)} ms`]));
  return details.join(", ");
}

const AXIS_WORDS = Object.fromEntries(SIDE_AXES.map(({ name, label }) => [name, label])) as Record<SideAxisName, string>; // has all of them
const WORDS: Record<keyof SideSettingsDocument, string> = {
  label: "name",
  ...AXIS_WORDS,
  contract: "call contract",
  dims: "dimensions",
  inputs: "inputs",
  options: "options",
  sandbox: "sandbox",
  signature: "signature",
  spinning: "spinning",
  values: "values",
};

/** Both sides, as requested. */
function settingsOf({ pairing, a_model_name, b_model_name }: ComparisonDetailsDocument): SettingDocument[] {
  const row = (name: string, a: unknown, b: unknown): SettingDocument => ({ name, a: words(a), b: words(b), differs: words(a) !== words(b) });
  const names = (Object.keys(WORDS) as (keyof SideSettingsDocument)[]).filter((name) => name !== "label"); // the keys of our own record
  return [row("model", a_model_name, b_model_name), ...names.map((name) => row(WORDS[name], pairing.a[name], pairing.b[name]))];
}

function words(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.join(", ") || null;
  if (typeof value === "object")
    return (
      Object.entries(value)
        .map(([name, value]) => `${name} ${String(value)}`)
        .join(", ") || null
    );
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" || typeof value === "number" ? String(value) : null;
}
