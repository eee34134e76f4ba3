import { Anchor, Button, Card, Group, Skeleton, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";

import { engineTitle } from "@/api/engines";
import { modelsQuery, profilesQuery } from "@/api/queries";
import { msPerBatch } from "@/api/figures";
import type { ProfileSummary } from "@/api/schema.gen";
import { profileKey } from "@/features/profiles/actions";
import { AddProfile } from "@/features/profiles/AddProfile";
import { ProfileMenu } from "@/features/profiles/ProfileMenu";
import { intervalOf, plural, quantity } from "@/format/numbers";
import { cellName } from "@/format/words";
import { Ago } from "@/ui/Ago";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { NoiseBadge, StateBadge } from "@/ui/badges";
import { Trouble } from "@/ui/Trouble";
import { usePendingRemovals } from "@/ui/undo";

const FROM = "/p/$pid/profiles" as const;

/** Where models spend their time: newest first. */
export function ProfilesPage() {
  const { pid } = useParams({ from: FROM });
  const { add } = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const list = useInfiniteQuery(profilesQuery({ project_id: pid, limit: 50 }));
  const models = useQuery(modelsQuery(pid));
  const pendingRemovals = usePendingRemovals();
  const rows = (list.data?.pages.flatMap((page) => page.items) ?? []).filter((row) => !pendingRemovals.has(profileKey(row.id)));
  const names = new Map((models.data?.items ?? []).map((model) => [model.id, model.name]));
  const setAdding = (isAdding: boolean) => void navigate({ search: { add: isAdding || undefined }, replace: true });
  const open = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      ADD PROFILE
    </Button>
  );
  return (
    <Page title="Profiles" actions={rows.length > 0 && open}>
      {list.isError ? (
        <Trouble error={list.error} retry={() => void list.refetch()} />
      ) : list.isPending ? (
        <Stack>
          {[0, 1, 2].map((index) => (
            <Skeleton key={index} height={86} />
          ))}
        </Stack>
      ) : rows.length === 0 ? (
        <Empty title="No profile yet" actions={open}>
          A profile shows which operators and nodes a model spends its time in. The default run takes about 10 s.
        </Empty>
      ) : (
        <Stack gap="sm">
          {rows.map((row) => (
            <ProfileCard key={row.id} row={row} modelName={names.get(row.model_id) ?? row.name} />
          ))}
          {list.hasNextPage && (
            <Button variant="default" onClick={() => void list.fetchNextPage()} loading={list.isFetchingNextPage}>
              Show more
            </Button>
          )}
        </Stack>
      )}
      {add && (
        <AddProfile
          pid={pid}
          close={() => setAdding(false)}
          added={(profile) => void navigate({ to: "/p/$pid/profiles/$fid", params: { pid, fid: profile.id } })}
        />
      )}
    </Page>
  );
}

function ProfileCard({ row, modelName }: { row: ProfileSummary; modelName: string }) {
  const { summary } = row;
  const figure = msPerBatch(summary);
  const latency = quantity(figure?.value, figure && intervalOf(figure), "ms");
  const settings = [
    summary.engine && engineTitle(summary.engine),
    summary.cores !== null && summary.batch_size !== null ? cellName({ cores: summary.cores, batch_size: summary.batch_size }) : null,
    summary.precision,
  ].filter(Boolean);
  return (
    <Card component="article" aria-label={`Profile ${row.id}`}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={4} miw={0}>
          <Group gap="sm">
            <Anchor component={Link} to={`/p/${row.project_id}/profiles/${row.id}`} fw={600} style={{ overflowWrap: "anywhere" }}>
              {row.name}
            </Anchor>
            <Text size="sm" className="dim">
              #{row.id}
            </Text>
            <StateBadge state={row.state} />
            <NoiseBadge of={summary} />
          </Group>
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            {[row.name === modelName ? null : modelName, ...settings].filter(Boolean).join(" · ") || "Settings appear after its first run"}
          </Text>
          <Group gap="sm">
            {summary.latency_ms !== null && (
              <Text size="sm">
                <b>{[latency.value, latency.spread].filter(Boolean).join(" ")} ms</b>{" "}
                <span className="dim">per call, without the profiler{summary.sessions !== null && `, n = ${plural(summary.sessions, "repeat")}`}</span>
              </Text>
            )}
            <Ago at={row.last_run_at ?? row.created_at} />
          </Group>
        </Stack>
        <ProfileMenu profile={row} />
      </Group>
    </Card>
  );
}
