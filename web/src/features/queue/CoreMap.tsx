import { Box, Group, Skeleton, Stack, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { useProgressOfJobs } from "@/api/progress";
import { queueQuery } from "@/api/queries";
import type { JobDocument } from "@/api/schema.gen";
import { lanesOf, type Lane } from "@/features/queue/lanes";
import { duration, plural } from "@/format/numbers";
import { Section } from "@/ui/Section";
import { Trouble } from "@/ui/Trouble";

const REFRESH_MS = 2000;

/** Which job has which core, since when and about until when. */
export function CoreMap({ running }: { running: readonly JobDocument[] }) {
  // A job takes and releases cores between its steps, and no event says so.
  const queue = useQuery({ ...queueQuery, refetchInterval: running.length > 0 && REFRESH_MS });
  const progressByJob = useProgressOfJobs();
  const now = useNow();
  if (queue.isError) return <Trouble error={queue.error} retry={() => void queue.refetch()} />;
  if (queue.isPending) return <Skeleton height={120} />;
  const remaining = new Map(
    running.flatMap((job) => {
      const left = progressByJob.get(job.id)?.remaining_s ?? job.progress?.remaining_s;
      return left == null ? [] : [[job.id, left] as const];
    }),
  );
  const lanes = lanesOf(queue.data.cores, running, remaining, now);
  const taken = lanes.filter((lane) => lane.hold || lane.usedBy).length;
  return (
    <Section title="Cores">
      <Text size="sm" className="dim">
        {taken === 0 ? `All ${plural(lanes.length, "core")} are free.` : `${taken} of ${plural(lanes.length, "core")} in use.`} Each measurement has its cores
        to itself, so that jobs do not disturb each other.
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
  const { core, hold, usedBy } = lane;
  const name = hold ? (hold.job?.name ?? `job ${hold.jobId}`) : usedBy ? `in use by another process: ${usedBy}` : "free";
  const words = `Core ${core}: ${name}${hold && left ? `, about ${duration(left)} more` : ""}`;
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
            <>
              {usedBy && <Box className="lane-held" left="0" w="100%" />}
              <Text className={usedBy ? "lane-name" : "lane-name dim"} size="xs" truncate>
                {name}
              </Text>
            </>
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
