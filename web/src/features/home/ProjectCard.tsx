import { Anchor, Badge, Card, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useIntersection } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { engineTitle } from "@/api/engines";
import { modelsQuery, standingQuery } from "@/api/queries";
import type { LeaderDocument } from "@/api/parts";
import type { Project } from "@/api/schema.gen";
import { plural } from "@/format/numbers";
import { cellName } from "@/format/words";
import { Ago } from "@/ui/Ago";
import { NoiseBadge } from "@/ui/badges";
import { CellFigure } from "@/ui/CellFigure";

/** A project at a glance: its model, the best so far, and when something happened last. */
export function ProjectCard({ project }: { project: Project }) {
  const { ref, entry } = useIntersection({ rootMargin: "300px" });
  const [wasSeen, setSeen] = useState(false);
  if (entry?.isIntersecting && !wasSeen) setSeen(true);
  const standing = useQuery({ ...standingQuery(project.id), enabled: wasSeen });
  const models = useQuery({ ...modelsQuery(project.id), enabled: wasSeen });
  const names = models.data?.items.map((model) => model.name) ?? [];
  const active = standing.data?.counts.active_jobs ?? 0;
  const last = standing.data?.activity[0];
  return (
    <Card component="article" ref={ref} aria-label={project.name}>
      <Stack gap={6} h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Anchor component={Link} to={`/p/${project.id}`} fw={650} size="lg" style={{ overflowWrap: "anywhere" }}>
            {project.name}
          </Anchor>
          {active > 0 && (
            <Badge variant="light" tt="none" leftSection={<span aria-hidden>◑</span>} style={{ flexShrink: 0 }}>
              {plural(active, "job")} under way
            </Badge>
          )}
        </Group>
        <Text size="sm" className="dim" truncate>
          {models.isPending ? "…" : names.length === 0 ? "no model yet" : `${names[0]}${names.length > 1 ? ` and ${names.length - 1} more` : ""}`}
        </Text>
        {standing.isPending ? <Skeleton height={52} animate={wasSeen} /> : standing.data && <Best best={standing.data.best[0]} />}
        <Group gap={6} mt="auto">
          {last ? (
            <>
              <Text size="sm" className="dim" truncate maw="100%">
                {last.sentence}
              </Text>
              <Ago at={last.at} />
            </>
          ) : (
            <>
              <Text size="sm" className="dim">
                made
              </Text>
              <Ago at={project.created_at} />
            </>
          )}
        </Group>
      </Stack>
    </Card>
  );
}

function Best({ best }: { best: LeaderDocument | undefined }) {
  const leader = best?.leader;
  if (!best || !leader)
    return (
      <Text size="sm" className="dim">
        {best?.note === "nothing measured yet" ? "Nothing measured yet." : (best?.note ?? "")}
      </Text>
    );
  return (
    <Stack gap={2}>
      <Group align="flex-start" style={{ columnGap: 20, rowGap: 4 }}>
        <CellFigure cell={leader.cell} metric="ms_per_call" />
        <NoiseBadge of={leader.cell} />
      </Group>
      <Text size="sm">
        {best.is_clear ? "" : "no clear difference from others: "}
        {engineTitle(leader.cell.engine)}, {cellName(leader.cell)}
      </Text>
    </Stack>
  );
}
