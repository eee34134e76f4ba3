import { Button, Card, Group, Progress, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";

import { api, answerOf } from "@/api/client";
import { useJobProgress } from "@/api/progress";
import { waitsForCores } from "@/api/waiting";
import { projectQuery } from "@/api/queries";
import type { JobDocument } from "@/api/schema.gen";
import { kindOf } from "@/kinds/kinds";
import { PlaceLink } from "@/kinds/PlaceLink";
import { remainingText, liveEstimateText } from "@/format/numbers";
import { Ago } from "@/ui/Ago";
import { StateBadge, WaitingBadge } from "@/ui/badges";
import { errorText } from "@/ui/Trouble";

export function JobLine({ job, isFirst = false }: { job: JobDocument; isFirst?: boolean }) {
  const project = useQuery(projectQuery(job.project_id));
  const act = useMutation({ mutationFn: (act: Act) => ACTS[act](job.id), onError: showError });
  const isWaiting = waitsForCores(job);
  const isOver = job.state !== "running" && job.state !== "queued";
  const canResume = job.state === "failed" || job.state === "cancelled" || job.state === "interrupted";
  return (
    <Card padding="sm" component="li">
      <Stack gap={6}>
        <Group justify="space-between" gap="xs">
          <Group gap="xs" style={{ minWidth: 0 }}>
            {isWaiting ? <WaitingBadge /> : <StateBadge state={job.state}>{job.place != null ? `Queued #${job.place}` : undefined}</StateBadge>}
            <PlaceLink kind={job.kind} project={job.project_id} id={job.of_id}>
              {job.name}
            </PlaceLink>
            <Text size="sm" className="dim">
              {kindOf(job.kind).title}
              {project.data && ` in ${project.data.name}`} · job {job.id}
            </Text>
            <Ago at={job.finished_at ?? job.started_at ?? job.queued_at} />
          </Group>
          <Group gap="xs">
            {job.state === "queued" && !isFirst && (
              <Button size="compact-sm" variant="default" loading={act.isPending} onClick={() => act.mutate("next")}>
                Run next
              </Button>
            )}
            {!isOver && (
              <Button size="compact-sm" variant="default" loading={act.isPending} onClick={() => act.mutate("cancel")}>
                Cancel
              </Button>
            )}
            {canResume && (
              <Button size="compact-sm" variant="default" loading={act.isPending} onClick={() => act.mutate("resume")}>
                Resume
              </Button>
            )}
          </Group>
        </Group>
        {job.state === "running" && !isWaiting && <JobProgress job={job} />}
        {job.reason && (
          <Text size="sm" className="dim">
            {job.reason}
          </Text>
        )}
      </Stack>
    </Card>
  );
}

function JobProgress({ job }: { job: JobDocument }) {
  const liveProgress = useJobProgress(job.id);
  const progress = liveProgress ?? job.progress;
  const done = progress?.units_done ?? 0;
  const planned = progress?.units_planned ?? 0;
  const half = progress?.relative_half_width;
  const estimate = progress?.estimate_ms;
  return (
    <>
      <Progress value={planned > 0 ? Math.min(100, (100 * done) / planned) : 0} aria-label={`Progress of ${job.name}`} />
      <Text size="sm" className="dim">
        {progress?.doing || "Starting"}
        {planned > 0 && ` · ${Math.min(done, planned)} of ${planned}`}
        {estimate != null && ` · so far ${liveEstimateText(estimate, half)}`}
        {progress?.remaining_s != null && ` · ${remainingText(progress.remaining_s)}`}
      </Text>
    </>
  );
}

const pathParams = (job_id: number) => ({ params: { path: { job_id } } });
const ACTS = {
  next: (job: number) => answerOf(api.POST("/api/v1/jobs/{job_id}/next", pathParams(job))),
  cancel: (job: number) => answerOf(api.POST("/api/v1/jobs/{job_id}/cancel", pathParams(job))),
  resume: (job: number) => answerOf(api.POST("/api/v1/jobs/{job_id}/resume", pathParams(job))),
};
type Act = keyof typeof ACTS;

export function showError(error: unknown): void {
  const { title, why, fix } = errorText(error);
  notifications.show({ color: "red", title, message: [why, fix].filter(Boolean).join(". ") });
}
