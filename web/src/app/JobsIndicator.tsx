import { Anchor, Box, Button, Group, Popover, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { api, answerOf } from "@/api/client";
import { useJobProgress } from "@/api/progress";
import { jobsQuery } from "@/api/queries";
import type { JobDocument } from "@/api/schema.gen";
import { waitsForCores } from "@/api/waiting";
import { remainingText } from "@/format/numbers";

/** What runs and waits, the same on every page. */
export function JobsIndicator() {
  const running = useQuery(jobsQuery({ state: "running" }));
  const waiting = useQuery(jobsQuery({ state: "queued" }));
  const runningJobs = running.data?.items ?? [];
  const queuedJobs = waiting.data?.items ?? [];
  if (runningJobs.length + queuedJobs.length === 0) return null;
  const words = [runningJobs.length && `${runningJobs.length} running`, queuedJobs.length && `${queuedJobs.length} queued`].filter(Boolean).join(", ");
  return (
    <Popover position="bottom-end" width={340} withArrow shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="light" size="compact-sm" aria-label={words} leftSection={<span aria-hidden>●</span>}>
          <Box component="span" visibleFrom="xs">
            {words}
          </Box>
          <Box component="span" hiddenFrom="xs">
            {runningJobs.length + queuedJobs.length}
          </Box>
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm">
          {runningJobs.map((job) => (
            <RunningJob key={job.id} job={job} />
          ))}
          <Anchor component={Link} to="/queue" size="sm">
            Open the queue
          </Anchor>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function RunningJob({ job }: { job: JobDocument }) {
  const progress = useJobProgress(job.id);
  const done = progress?.units_done ?? 0;
  const planned = progress?.units_planned ?? 0;
  const share = planned > 0 ? Math.min(100, (100 * done) / planned) : 0;
  return (
    <Stack gap={4}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" truncate>
          {job.name || `Job ${job.id}`}
        </Text>
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => void answerOf(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id: job.id } } }))}
        >
          Cancel
        </Button>
      </Group>
      <Progress value={share} aria-label={`Progress of ${job.name}`} />
      <Text size="xs" className="dim">
        {progress?.doing || "Starting"}
        {progress?.remaining_s != null && !waitsForCores(job) && ` · ${remainingText(progress.remaining_s)}`}
      </Text>
    </Stack>
  );
}
