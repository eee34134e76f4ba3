import { Card, SimpleGrid, Skeleton, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import { projectQuery, standingQuery } from "@/api/queries";
import { Activity } from "@/features/project/Activity";
import { BestSoFar } from "@/features/project/BestSoFar";
import { Guide } from "@/features/project/Guide";
import { NextSteps } from "@/features/project/NextSteps";
import { NoteEditor } from "@/ui/NoteEditor";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";

/** What the guide says already. */
const IN_GUIDE: ReadonlySet<string> = new Set(["add-model", "add-benchmark"]);

export function OverviewPage() {
  const { pid } = useParams({ from: "/p/$pid" });
  const project = useQuery(projectQuery(pid));
  const standing = useQuery(standingQuery(pid));
  const found = standing.data;
  const isMeasured = found?.best.some((one) => one.leader !== null) ?? false;
  return (
    <Page title={project.data?.name ?? "Overview"}>
      {standing.isError && <Trouble error={standing.error} again={() => void standing.refetch()} />}
      {standing.isPending && (
        <>
          <Skeleton height={150} />
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Skeleton height={220} />
            <Skeleton height={220} />
          </SimpleGrid>
        </>
      )}
      {found && (
        <>
          {isMeasured ? <BestSoFar pid={pid} best={found.best} /> : <Guide pid={pid} counts={found.counts} isMeasured={isMeasured} />}
          <SimpleGrid cols={{ base: 1, md: 2 }} style={{ alignItems: "start" }}>
            <Activity pid={pid} activity={found.activity} />
            <NextSteps pid={pid} steps={isMeasured ? found.next_steps : found.next_steps.filter((step) => !IN_GUIDE.has(step.action))} />
          </SimpleGrid>
        </>
      )}
      <Card component="section" aria-label="Notes">
        <Title order={2} size="h4" mb="xs">
          Notes
        </Title>
        <NoteEditor kind="project" id={pid} invitation="Nothing written yet: what is this project to find out?" />
      </Card>
    </Page>
  );
}
