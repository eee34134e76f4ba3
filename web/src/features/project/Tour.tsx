import { Button, Card, Group, Text } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { benchmarksQuery, profilesQuery } from "@/api/queries";

type Stop = { name: string; words: string; path: string; search?: { tab: "reproduce" } };

const OVER = -1;

/** Four stops through the demo; once skipped or finished, it is never shown again. */
export function Tour({ pid }: { pid: number }) {
  const [stopIndex, setStopIndex] = useLocalStorage({ key: "modeldyno.tour", defaultValue: 0, getInitialValueInEffect: false });
  const navigate = useNavigate();
  const newest = useInfiniteQuery({ ...benchmarksQuery({ project_id: pid, limit: 1 }), enabled: stopIndex !== OVER }).data?.pages[0]?.items[0];
  const profiles = useInfiniteQuery({ ...profilesQuery({ project_id: pid, limit: 10 }), enabled: stopIndex !== OVER }).data?.pages[0]?.items;
  // A profile that has a result, if there is one.
  const profile = profiles?.find((row) => row.last_run_at !== null) ?? profiles?.[0];
  const stops = stopsOf(pid, newest?.id, profile?.id);
  const stop = stops[stopIndex];
  if (!stop) return null;
  const next = stops[stopIndex + 1];
  const go = (to: number) => {
    setStopIndex(to);
    const there = stops[to];
    if (there) void navigate({ to: there.path, search: () => there.search ?? {} });
  };
  return (
    <Card component="section" aria-label="Tour" padding="sm" mb="md" style={{ borderLeft: "4px solid var(--mantine-primary-color-filled)" }}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" style={{ flex: "1 1 16rem" }} aria-live="polite">
          <b>
            Stop {stopIndex + 1} of {stops.length}: {stop.name}.
          </b>{" "}
          {stop.words}
        </Text>
        <Group gap="xs">
          <Button size="xs" onClick={() => go(next ? stopIndex + 1 : OVER)}>
            {next ? `Next: ${next.name}` : "Done"}
          </Button>
          {next && (
            <Button size="xs" variant="default" onClick={() => go(OVER)}>
              Skip the tour
            </Button>
          )}
        </Group>
      </Group>
    </Card>
  );
}

function stopsOf(pid: number, benchmark: number | undefined, profile: number | undefined): readonly Stop[] {
  return [
    {
      name: "Best so far",
      words: "The leaders by latency and by throughput on this machine, with intervals; cells whose intervals overlap are not ranked.",
      path: `/p/${pid}`,
    },
    {
      name: "Benchmarks",
      words: "Every number with its interval, the number of sessions behind it, and how quiet the machine was. ADD BENCHMARK measures more.",
      path: `/p/${pid}/benchmarks`,
    },
    {
      name: "Profile",
      words: "Where the time goes, operator by operator; click one to see it in the graph.",
      path: profile === undefined ? `/p/${pid}/profiles` : `/p/${pid}/profiles/${profile}`,
    },
    {
      name: "Reproduce",
      words: "The same measurement for a terminal, curl and Python, and the machine it was made on.",
      path: benchmark === undefined ? `/p/${pid}/benchmarks` : `/p/${pid}/benchmarks/${benchmark}`,
      search: benchmark === undefined ? undefined : { tab: "reproduce" },
    },
  ];
}
