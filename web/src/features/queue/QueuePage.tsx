import "@/features/queue/queue.css";

import { Button, Group, Modal, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { api, answerOf } from "@/api/client";
import { jobsQuery } from "@/api/queries";
import type { JobDocument } from "@/api/schema.gen";
import { CoreMap } from "@/features/queue/CoreMap";
import { PauseButton, PausedLine } from "@/features/queue/Pause";
import { showError, JobLine } from "@/features/queue/JobLine";
import { plural } from "@/format/numbers";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";

/** Everything that runs and waits, and why; what ended recently, to resume or repeat. */
export function QueuePage() {
  const running = useQuery(jobsQuery({ state: "running" }));
  const queued = useQuery(jobsQuery({ state: "queued", limit: 200 }));
  const latest = useQuery(jobsQuery({ limit: 30 }));
  const lists = [running, queued, latest];
  const failed = lists.find((query) => query.isError);
  const runningJobs = running.data?.items ?? [];
  const queuedJobs = [...(queued.data?.items ?? [])].sort((a, b) => (a.place ?? 0) - (b.place ?? 0));
  const endedJobs = (latest.data?.items ?? []).filter((job) => job.state !== "running" && job.state !== "queued").slice(0, 20);
  return (
    <Page
      title="Queue"
      actions={
        <Group gap="xs">
          <PauseButton />
          <CancelAll jobs={[...queuedJobs, ...runningJobs]} />
        </Group>
      }
    >
      <PausedLine />
      {failed && <Trouble error={failed.error} retry={() => lists.forEach((query) => void query.refetch())} />}
      <CoreMap running={runningJobs} />
      {lists.some((query) => query.isPending) ? (
        <Stack gap="xs">
          <Skeleton height={72} />
          <Skeleton height={72} />
        </Stack>
      ) : (
        <>
          {runningJobs.length + queuedJobs.length === 0 && !failed && (
            <Empty
              title="The queue is empty"
              actions={
                <Button component={Link} to="/">
                  Open a project
                </Button>
              }
            >
              Benchmarks, comparisons and profiles that you start are measured here, one after the other.
            </Empty>
          )}
          <Jobs title="Running" jobs={runningJobs} />
          <Jobs title={`Waiting (${queuedJobs.length})`} jobs={queuedJobs} areWaiting />
          <Jobs title="Recently finished" jobs={endedJobs} />
        </>
      )}
    </Page>
  );
}

function Jobs({ title, jobs, areWaiting = false }: { title: string; jobs: readonly JobDocument[]; areWaiting?: boolean }) {
  if (jobs.length === 0) return null;
  return (
    <section aria-label={title}>
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: "none" }}>
        {jobs.map((job, index) => (
          <JobLine key={job.id} job={job} isFirst={areWaiting && index === 0} />
        ))}
      </Stack>
    </section>
  );
}

function CancelAll({ jobs }: { jobs: readonly JobDocument[] }) {
  const [isAsking, ask] = useDisclosure();
  const cancel = useMutation({
    // The waiting ones first, or one of them would start meanwhile.
    mutationFn: async (all: readonly JobDocument[]) => {
      for (const job of all) await answerOf(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id: job.id } } }));
    },
    onSettled: ask.close,
    onError: showError,
  });
  return (
    <>
      {jobs.length > 1 && (
        <Button variant="default" onClick={ask.open}>
          Cancel all
        </Button>
      )}
      <Modal opened={isAsking} onClose={ask.close} title="Cancel all jobs?">
        <Stack>
          <Text size="sm">{plural(jobs.length, "job")} will stop. Everything measured so far is kept, and each can be resumed.</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={ask.close}>
              Keep them
            </Button>
            <Button color="red" loading={cancel.isPending} onClick={() => cancel.mutate(jobs)}>
              Cancel {plural(jobs.length, "job")}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
