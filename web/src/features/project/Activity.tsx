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
        {activity.slice(0, MOST).map((one) => (
          <Line key={one.run_id ?? `${one.subject} ${one.id}`} pid={pid} one={one} job={one.run_id ? jobs.get(one.run_id) : undefined} />
        ))}
      </Stack>
    </Card>
  );
}

function Line({ pid, one, job }: { pid: number; one: ActivityEntry; job: JobDocument | undefined }) {
  return (
    <li>
      <Group justify="space-between" gap="xs" align="flex-start">
        <Group gap="xs" wrap="nowrap" style={{ minWidth: 0, flex: "1 1 14rem" }} align="flex-start">
          {one.state && <StateBadge state={one.state} />}
          <Text size="sm" component="div">
            {one.subject === "model" ? (
              <Anchor fw={600} renderRoot={(props) => <Link {...props} to="/p/$pid/models/$mid" params={{ pid, mid: one.id }} />}>
                {one.sentence}
              </Anchor>
            ) : (
              <PlaceLink kind={one.subject} project={pid} id={one.id}>
                {one.sentence}
              </PlaceLink>
            )}
          </Text>
        </Group>
        <span style={{ whiteSpace: "nowrap" }}>
          <Ago at={one.at} />
        </span>
      </Group>
      {job && <Running job={job} />}
    </li>
  );
}

function Running({ job }: { job: JobDocument }) {
  const standing = useJobProgress(job.id);
  const done = standing?.units_done ?? job.progress?.units_done ?? 0;
  const planned = standing?.units_planned ?? job.progress?.units_planned ?? 0;
  const remaining = standing?.remaining_s ?? job.progress?.remaining_s;
  const share = planned > 0 ? Math.min(100, (100 * done) / planned) : 0;
  return (
    <Stack gap={2} mt={4}>
      <Progress value={share} aria-label="Progress" />
      <Text size="xs" className="dim">
        {standing?.doing || job.progress?.doing || "Starting"} · {Math.round(share)} %{remaining != null && ` · ${remainingText(remaining)}`}
      </Text>
    </Stack>
  );
}
