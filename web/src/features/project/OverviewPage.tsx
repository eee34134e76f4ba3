import { Card, SimpleGrid, Skeleton, Title } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";

import { benchmarksQuery, comparisonsQuery, projectQuery, standingQuery } from "@/api/queries";
import { Activity } from "@/features/project/Activity";
import { BestSoFar } from "@/features/project/BestSoFar";
import { Guide } from "@/features/project/Guide";
import { NextSteps } from "@/features/project/NextSteps";
import { SoFar } from "@/features/project/SoFar";
import { Verdicts } from "@/features/project/Verdicts";
import { NoteEditor } from "@/ui/NoteEditor";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";

const MOST_DRAWN = 10; // benchmarks: the newest matter most

/** Steps that the guide already has. */
const IN_GUIDE: ReadonlySet<string> = new Set(["add-model", "add-benchmark"]);

export function OverviewPage() {
  const { pid } = useParams({ from: "/p/$pid" });
  const project = useQuery(projectQuery(pid));
  const standing = useQuery(standingQuery(pid));
  const benchmarks = useInfiniteQuery(benchmarksQuery({ project_id: pid, with_cells: true, limit: MOST_DRAWN }));
  const comparisons = useInfiniteQuery(comparisonsQuery({ project_id: pid, limit: MOST_DRAWN }));
  const details = standing.data;
  const measured = useMemo(
    () => benchmarks.data?.pages.flatMap((page) => page.items).filter((row) => row.cells?.some((cell) => cell.latency_ms)) ?? [],
    [benchmarks.data],
  );
  const judged = comparisons.data?.pages.flatMap((page) => page.items).filter((row) => row.summary.verdict !== null) ?? [];
  const isMeasured = measured.length > 0;
  const isCompared = judged.length > 0;
  return (
    <Page title={project.data?.name ?? "Overview"}>
      {standing.isError && <Trouble error={standing.error} retry={() => void standing.refetch()} />}
      {standing.isPending && (
        <>
          <Skeleton height={150} />
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Skeleton height={220} />
            <Skeleton height={220} />
          </SimpleGrid>
        </>
      )}
      {details && (
        <>
          {!(isMeasured && isCompared) && <Guide pid={pid} counts={details.counts} isMeasured={isMeasured} isCompared={isCompared} />}
          {isMeasured && <BestSoFar pid={pid} best={details.best} />}
          <Verdicts pid={pid} rows={judged} />
          <SimpleGrid cols={{ base: 1, md: isMeasured ? 2 : 1 }} style={{ alignItems: "start" }}>
            {isMeasured && <SoFar rows={measured} />}
            <Activity pid={pid} activity={details.activity} />
          </SimpleGrid>
          <NextSteps pid={pid} steps={details.next_steps.filter((step) => isMeasured || !IN_GUIDE.has(step.action))} />
        </>
      )}
      <Card component="section" aria-label="Notes">
        <Title order={2} size="h4" mb="xs">
          Notes
        </Title>
        <NoteEditor kind="project" id={pid} invitation="Nothing written yet: what should this project find out?" />
      </Card>
    </Page>
  );
}
