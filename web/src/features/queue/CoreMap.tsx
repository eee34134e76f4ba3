import { Box, Group, Skeleton, Stack, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { useStandings } from "@/api/progress";
import { systemQuery } from "@/api/queries";
import type { JobTold } from "@/api/schema.gen";
import { lanesOf, type Lane } from "@/features/queue/lanes";
import { duration, plural } from "@/format/numbers";
import { Section } from "@/ui/Section";
import { Trouble } from "@/ui/Trouble";

/** Which job has which core, since when and about until when. */
export function CoreMap({ running }: { running: readonly JobTold[] }) {
  const system = useQuery(systemQuery);
  const standings = useStandings();
  const now = useNow();
  const doing = running.map((job) => standings.get(job.id)?.doing ?? "").join("\n");
  // Cores are taken and given back between the steps of a job.
  const { refetch } = system;
  useEffect(() => void refetch(), [doing, refetch]);
  if (system.isError) return <Trouble error={system.error} again={() => void system.refetch()} />;
  if (system.isPending) return <Skeleton height={120} />;
  const remaining = new Map(
    running.flatMap((job) => {
      const left = standings.get(job.id)?.remaining_s ?? job.progress?.remaining_s;
      return left == null ? [] : [[job.id, left] as const];
    }),
  );
  const allowed = system.data.host.cpus_allowed;
  const cores = Array.isArray(allowed) ? allowed.filter((core) => typeof core === "number") : [];
  const lanes = lanesOf(cores, system.data.leases, running, remaining, now);
  const taken = lanes.filter((lane) => lane.hold).length;
  return (
    <Section title="Cores">
      <Text size="sm" className="dim">
        {taken === 0 ? `All ${plural(lanes.length, "core")} are free.` : `${taken} of ${plural(lanes.length, "core")} in use.`} What measures has its cores to
        itself, so that jobs do not disturb each other.
      </Text>
      <Stack gap={4} role="list" aria-label="Cores">
        {lanes.map((lane) => (
          <LaneShown key={lane.core} lane={lane} left={lane.hold ? remaining.get(lane.hold.jobId) : undefined} />
        ))}
      </Stack>
    </Section>
  );
}

function LaneShown({ lane, left }: { lane: Lane; left: number | undefined }) {
  const { core, hold } = lane;
  const name = hold ? (hold.job?.name ?? `job ${hold.jobId}`) : "free";
  const words = hold ? `Core ${core}: ${name}${left ? `, about ${duration(left)} more` : ""}` : `Core ${core}: free`;
  const width = (share: number) => `${(100 * Math.max(0, share)).toFixed(2)}%`;
  return (
    <Group role="listitem" gap="sm" wrap="nowrap">
      <Text size="xs" className="dim" w={56} style={{ flexShrink: 0 }}>
        Core {core}
      </Text>
      <Tooltip label={words}>
        <Box className="lane" tabIndex={0} role="img" aria-label={words}>
          {hold ? (
            <>
              <Box className="lane-held" left={width(hold.start)} w={width(hold.now - hold.start)} />
              <Box className="lane-ahead" left={width(hold.now)} w={width(hold.end - hold.now)} />
              <Text className="lane-name" size="xs" truncate>
                {name}
              </Text>
            </>
          ) : (
            <Text className="lane-name dim" size="xs">
              free
            </Text>
          )}
        </Box>
      </Tooltip>
    </Group>
  );
}

/** The time, once in five seconds: blocks grow slowly. */
function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
