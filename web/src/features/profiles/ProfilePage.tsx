import { Alert, Anchor, Button, Checkbox, Group, Progress, SegmentedControl, Skeleton, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

import { engineTitle } from "@/api/engines";
import { useJobProgress } from "@/api/progress";
import { profileQuery, profileResultQuery, profilesQuery } from "@/api/queries";
import type { ProfileDetailsDocument, ProfileDocument } from "@/api/schema.gen";
import { saveText } from "@/charts/saving";
import { cancelJob, resumeJob, runProfile } from "@/features/profiles/actions";
import { Breakdown } from "@/features/profiles/Breakdown";
import { ProfileDiff } from "@/features/profiles/ProfileDiff";
import { ProfileMenu } from "@/features/profiles/ProfileMenu";
import { duration, intervalOf, percent, plural } from "@/format/numbers";
import { cellName, capitalize } from "@/format/words";
import { Ago } from "@/ui/Ago";
import { NoiseBadge, StateBadge } from "@/ui/badges";
import { Caution } from "@/ui/Caution";
import { Choose } from "@/ui/Choose";
import { Copy } from "@/ui/Copy";
import { Figure } from "@/ui/Figure";
import { NoteEditor } from "@/ui/NoteEditor";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { Ticked } from "@/ui/Ticked";
import { Trouble } from "@/ui/Trouble";

const FROM = "/p/$pid/profiles/$fid" as const;

export function ProfilePage() {
  const { pid, fid } = useParams({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const profile = useQuery(profileQuery(fid));
  if (profile.isError) return <Trouble error={profile.error} retry={() => void profile.refetch()} />;
  if (!profile.data) return <Skeleton height={480} />;
  const details = profile.data;
  return (
    <Page title={details.name} actions={<ProfileMenu profile={details} removed={() => void navigate({ to: "/p/$pid/profiles", params: { pid } })} />}>
      <Group gap="sm">
        <StateBadge state={details.state} />
        <NoiseBadge of={details.summary} />
        <Text size="sm" className="dim">
          Profile #{details.id} of
        </Text>
        <Anchor component={Link} to={`/p/${pid}/models/${details.model_id}`} size="sm">
          {details.model_name}
        </Anchor>
        <Ago at={details.last_run_at ?? details.created_at} />
        {details.latest_run && (
          <Text size="sm" className="dim">
            run #{details.latest_run.number}
          </Text>
        )}
      </Group>
      <ProfileStatus profile={details} />
      {details.agreement && <Result profile={details} runId={details.agreement.run_id} />}
      <Section title="Notes">
        <NoteEditor kind="profile" id={fid} invitation="What did you learn from it?" />
      </Section>
    </Page>
  );
}

/** What it is doing, or why it has no result. */
function ProfileStatus({ profile }: { profile: ProfileDetailsDocument }) {
  const { state, latest_run: run } = profile;
  const progress = useJobProgress(run?.job_id);
  const jobId = run?.job_id ?? null;
  if (state === "draft") {
    return (
      <Alert color="gray" variant="light" title="Not run yet">
        <Button size="xs" onClick={() => void runProfile(profile.id)}>
          RUN
        </Button>
      </Alert>
    );
  }
  if (state === "queued" || state === "running") {
    const share = progress && progress.units_planned > 0 ? (100 * progress.units_done) / progress.units_planned : 0;
    return (
      <Section
        title={state === "queued" ? "Waiting in the queue" : "Profiling"}
        actions={
          jobId !== null && (
            <Button size="xs" variant="default" onClick={() => void cancelJob(jobId)}>
              CANCEL
            </Button>
          )
        }
      >
        <Progress value={share} aria-label="Progress of the profile" />
        <Text size="sm" className="dim">
          {progress ? `Repeat ${progress.units_done} of ${progress.units_planned} done. ${progress.doing}` : "Starts as soon as its cores are free."}
          {progress?.remaining_s != null && ` About ${duration(progress.remaining_s)} left.`}
        </Text>
      </Section>
    );
  }
  if (state === "failed") {
    const failure = run?.failure;
    return (
      <Alert color="red" variant="light" title={failure?.title ?? "It failed"} role="alert">
        <Stack gap="xs">
          {failure?.detail && <Text size="sm">{failure.detail}.</Text>}
          {failure?.fix && <Text size="sm">{failure.fix}.</Text>}
          <Group>
            <Button size="xs" variant="default" onClick={() => void runProfile(profile.id)}>
              Run again
            </Button>
          </Group>
        </Stack>
      </Alert>
    );
  }
  if (state === "cancelled" || state === "interrupted") {
    return (
      <Alert
        color="orange"
        variant="light"
        title={state === "cancelled" ? "Cancelled: finished repeats are kept" : "Interrupted: the server stopped during the run"}
      >
        {jobId !== null && (
          <Button size="xs" variant="default" onClick={() => void resumeJob(jobId)}>
            Resume
          </Button>
        )}
      </Alert>
    );
  }
  return null;
}

function Result({ profile, runId }: { profile: ProfileDetailsDocument; runId: string }) {
  const result = useQuery(profileResultQuery(runId));
  if (result.isError) return <Trouble error={result.error} retry={() => void result.refetch()} />;
  if (result.isPending) return <Skeleton height={420} />;
  return result.data ? <ResultView profile={profile} result={result.data} /> : null;
}

function ResultView({ profile, result }: { profile: ProfileDetailsDocument; result: ProfileDocument }) {
  const { pid, fid } = useParams({ from: FROM });
  const search = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const others = useInfiniteQuery(profilesQuery({ project_id: pid, limit: 200 }));
  const rows = (others.data?.pages ?? []).flatMap((page) => page.items).filter((row) => row.id !== fid && row.last_run_at !== null);
  const by = search.by ?? "operator";
  const view = search.view ?? "bars";
  const change = useCallback(
    (to: Partial<typeof search>) => void navigate({ search: (old) => ({ ...old, ...to }), replace: true, resetScroll: false }),
    [navigate],
  );
  // For a node, opens that node; for an operator, its slowest node.
  const jump = useCallback(
    (name: string, of: ProfileDocument, at: { model: number; profile: number }) => {
      const node = by === "node" ? name : (of.nodes.find((row) => row.op_type === name)?.node ?? undefined);
      void navigate({ to: "/p/$pid/models/$mid/graph", params: { pid, mid: at.model }, search: { color: "time", profile: at.profile, node } });
    },
    [navigate, pid, by],
  );
  const latency = result.latency_ms.typical;
  const outside = latency.value ? (result.outside_ms.value ?? 0) / latency.value : 0;
  return (
    <>
      <Group gap="xl" align="flex-start">
        <Figure
          label="A call without the profiler"
          value={latency.value}
          interval={intervalOf(latency)}
          unit="ms"
          basis={`typical, n = ${plural(result.repeats, "repeat")}; ${plural(result.calls, "call")}`}
        />
        <Figure
          label="All nodes together"
          value={result.sum_ms.value}
          interval={intervalOf(result.sum_ms)}
          unit="ms"
          basis={`${percent(result.coverage, 1)} of the call`}
        />
        <Figure
          label="Outside nodes"
          value={result.outside_ms.value}
          interval={intervalOf(result.outside_ms)}
          unit="ms"
          basis={`${percent(outside, 1)} of the call`}
        />
        <Stack gap={0}>
          <Text size="sm" className="dim">
            Measured with
          </Text>
          <Text size="sm">
            {engineTitle(result.engine)} {result.effective.engine_version}
          </Text>
          <Text size="sm">
            {[cellName({ cores: result.cores, batch_size: result.batch_size }), result.device, result.precision].filter(Boolean).join(" · ")}
          </Text>
        </Stack>
      </Group>
      {result.surprises.length > 0 && <Caution title="Not as requested">{result.surprises.map(({ text }) => text).join(" · ")}</Caution>}
      {result.warnings.map((warning) => (
        <Caution key={warning} title="Use with caution">
          {warning}
        </Caution>
      ))}
      <Group gap="sm" align="flex-end" justify="space-between">
        <Group gap="sm" align="flex-end">
          <SegmentedControl
            aria-label="Show as"
            data={[
              { value: "bars", label: "Bars" },
              { value: "treemap", label: "Treemap" },
              { value: "table", label: "Table" },
            ]}
            value={view}
            onChange={(value) => change({ view: value === "treemap" || value === "table" ? value : undefined })}
          />
          <Choose
            label="Group by"
            value={by}
            options={[
              { value: "operator", label: "operator" },
              { value: "node", label: "node" },
            ]}
            change={(value) => change({ by: value === "node" ? "node" : undefined })}
          />
          <Choose
            label="Diff with"
            value={search.diff === undefined ? "" : String(search.diff)}
            options={[{ value: "", label: "nothing" }, ...rows.map((row) => ({ value: String(row.id), label: `#${row.id} ${row.name}` }))]}
            change={(value) => change({ diff: value === "" ? undefined : Number(value) })}
          />
          {search.diff === undefined && (
            <Checkbox
              label="show as %"
              checked={search.share ?? false}
              onChange={(event) => change({ share: event.currentTarget.checked || undefined })}
              mb={6}
            />
          )}
        </Group>
        <Group gap="xs">
          <Button
            component="a"
            href={`/api/v1/profiles/${fid}/csv?by=${by === "node" ? "node" : "op"}`}
            download
            size="xs"
            variant="default"
            leftSection={<IconDownload size={14} />}
          >
            CSV
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconDownload size={14} />}
            onClick={() => saveText(`profile-${fid}.json`, JSON.stringify(result, null, 2), "application/json")}
          >
            JSON
          </Button>
        </Group>
      </Group>
      {search.diff === undefined ? (
        <Breakdown
          result={result}
          by={by}
          view={view}
          isShare={search.share ?? false}
          jump={(name) => jump(name, result, { model: profile.model_id, profile: fid })}
        />
      ) : (
        <ProfileDiff a={{ profile, result }} otherId={search.diff} by={by} isTable={view === "table"} jump={jump} />
      )}
      {search.diff === undefined && <Limits result={result} by={by} />}
      {result.notes.length > 0 && (
        <Stack gap={2}>
          {result.notes.map((note) => (
            <Text key={note} size="sm" className="dim">
              {capitalize(note)}
            </Text>
          ))}
        </Stack>
      )}
      <Group gap="xs" wrap="nowrap">
        <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
          {profile.command}
        </Text>
        <Copy text={profile.command} label="Copy the command" />
      </Group>
    </>
  );
}

const SLOWEST = 3;

/** What limits the slowest, in numbers; or how to find out. */
function Limits({ result, by }: { result: ProfileDocument; by: "operator" | "node" }) {
  const rows = by === "node" ? result.nodes.map((row) => ({ ...row, name: row.node })) : result.operators.map((row) => ({ ...row, name: row.op_type }));
  const isKnown = result.roof.ridge_flop_per_byte !== null;
  const command = result.roof.text.split("`")[1];
  return (
    <Section title="What limits the time">
      <Stack gap={4}>
        {isKnown &&
          rows.slice(0, SLOWEST).map((row) => (
            <Text key={`${row.name} ${row.total_ms.value}`} size="sm" style={{ overflowWrap: "anywhere" }}>
              <b>{row.name}</b>: {row.work.bound ?? "not known"}. <span className="dim">{row.work.bound_reason}.</span>
            </Text>
          ))}
        <Group gap={4} wrap="nowrap">
          <Text size="sm" className="dim">
            {isKnown ? "Compared with the" : "Not known:"} <Ticked text={result.roof.text} />.
          </Text>
          {command && <Copy text={command} label="Copy the command" />}
        </Group>
      </Stack>
    </Section>
  );
}
