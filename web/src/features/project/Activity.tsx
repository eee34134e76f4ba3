import { Anchor, Card, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { useJobProgress } from "@/api/progress";
import { jobsQuery } from "@/api/queries";
import type { ActivityEntry } from "@/api/parts";
import type { JobDocument } from "@/api/schema.gen";
import { PlaceLink } from "@/kinds/PlaceLink";
import { remainingText } from "@/format/numbers";
import { Ago } from "@/ui/Ago";
import { StateBadge } from "@/ui/badges";

const MOST = 8;

/** What runs now, and what happened last. */
export function Activity({ pid, activity }: { pid: number; activity: readonly ActivityEntry[] }) {
  const running = useQuery(jobsQuery({ state: "running", project_id: pid }));
  const jobs = new Map(running.data?.items.map((job) => [job.run_id, job]));
  return (
    <Card component="section" aria-label="Activity">
      <Title order={2} size="h4" mb="xs">
        Activity
      </Title>
      {activity.length === 0 && (
        <Text size="sm" className="dim">
          No activity yet.
        </Text>
      )}
      <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {activity.slice(0, MOST).map((entry) => (
          <Line key={entry.run_id ?? `${entry.subject} ${entry.id}`} pid={pid} entry={entry} job={entry.run_id ? jobs.get(entry.run_id) : undefined} />
        ))}
      </Stack>
    </Card>
  );
}

function Line({ pid, entry, job }: { pid: number; entry: ActivityEntry; job: JobDocument | undefined }) {
  return (
    <li>
      <Group justify="space-between" gap="xs" align="flex-start">
        <Group gap="xs" wrap="nowrap" style={{ minWidth: 0, flex: "1 1 14rem" }} align="flex-start">
          {entry.state && <StateBadge state={entry.state} />}
          <Text size="sm" component="div">
            {entry.subject === "model" ? (
              <Anchor fw={600} renderRoot={(props) => <Link {...props} to="/p/$pid/models/$mid" params={{ pid, mid: entry.id }} />}>
                {entry.sentence}
              </Anchor>
            ) : (
              <PlaceLink kind={entry.subject} project={pid} id={entry.id}>
                {entry.sentence}
              </PlaceLink>
            )}
          </Text>
        </Group>
        <span style={{ whiteSpace: "nowrap" }}>
          <Ago at={entry.at} />
        </span>
      </Group>
      {job && <Running job={job} />}
    </li>
  );
}

function Running({ job }: { job: JobDocument }) {
  const progress = useJobProgress(job.id);
  const done = progress?.units_done ?? job.progress?.units_done ?? 0;
  const planned = progress?.units_planned ?? job.progress?.units_planned ?? 0;
  const remaining = progress?.remaining_s ?? job.progress?.remaining_s;
  const share = planned > 0 ? Math.min(100, (100 * done) / planned) : 0;
  return (
    <Stack gap={2} mt={4}>
      <Progress value={share} aria-label="Progress" />
      <Text size="xs" className="dim">
        {progress?.doing || job.progress?.doing || "Starting"} · {Math.round(share)} %{remaining != null && ` · ${remainingText(remaining)}`}
      </Text>
    </Stack>
  );
}
