import { Button, Group, Progress, Stack, Text, VisuallyHidden } from "@mantine/core";
import { useState } from "react";

import type { BenchmarkDetailsDocument } from "@/api/schema.gen";
import { waitsForCores } from "@/api/waiting";
import { CellGrid, estimateText, progressText } from "@/features/benchmarks/running/CellGrid";
import { moveJob } from "@/features/benchmarks/actions";
import { slotsOf } from "@/features/benchmarks/results/cells";
import type { Progress as Standing } from "@/features/benchmarks/running/useJob";
import { useJob } from "@/features/benchmarks/running/useJob";
import { duration } from "@/format/numbers";
import { cellName, capitalize, withEngineTitle } from "@/format/words";

/** A benchmark that waits or runs: how far it is, what it knows so far, and how to stop it. */
export function RunningBody({ benchmark }: { benchmark: BenchmarkDetailsDocument }) {
  const jobId = benchmark.latest_run?.job_id ?? null;
  const { job, progress } = useJob(jobId);
  const [chosen, choose] = useState<number | null>(null);
  const [isStopping, setStopping] = useState(false);
  const cancel = () => {
    if (jobId === null) return;
    setStopping(true);
    void moveJob(jobId, "cancel").then((done) => done ?? setStopping(false));
  };
  const isQueued = job?.state === "queued";
  const isWaiting = job !== undefined && waitsForCores(job);
  const percent = Math.floor(100 * (progress?.share ?? 0));
  const cellProgress = progress?.cells ?? [];
  const slot = slotsOf(benchmark.cells, cellProgress).find(({ cell }) => cell.number === chosen);
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2} style={{ flex: "1 1 240px", minWidth: 0 }}>
          <Group gap="sm">
            <Text fw={600}>{isQueued ? `Queued${job.place ? ` #${job.place}` : ""}` : `${percent} %`}</Text>
            {isWaiting && <Text size="sm">waiting for cores</Text>}
            {!isWaiting && progress?.remainingS != null && <Text size="sm">ETA {duration(progress.remainingS)}</Text>}
          </Group>
          {!isQueued && <Progress value={percent} transitionDuration={0} aria-label={`Progress of benchmark ${benchmark.id}`} />}
          <Text size="sm" className="dim" style={{ overflowWrap: "anywhere" }}>
            {isQueued ? capitalize(job.reason || "Starts as soon as the machine is free") : capitalize(withEngineTitle(progress?.doing || "Starting"))}
          </Text>
          {progress?.notices.map((notice) => (
            <Text key={notice} size="sm">
              {capitalize(withEngineTitle(notice))}
            </Text>
          ))}
          <Announced percent={percent} />
        </Stack>
        <Group gap="xs">
          {isQueued && jobId !== null && (
            <Button variant="default" size="xs" onClick={() => void moveJob(jobId, "next")}>
              Run next
            </Button>
          )}
          {jobId !== null && (
            <Button variant="default" size="xs" onClick={cancel} loading={isStopping} aria-label={`Cancel benchmark ${benchmark.id}`}>
              Cancel
            </Button>
          )}
        </Group>
      </Group>
      <Group align="flex-start" gap="xl">
        <CellGrid cells={benchmark.cells} progress={cellProgress} chosen={chosen} choose={choose} />
        <Stack gap={2} style={{ flex: "1 1 200px" }} aria-live="off">
          {slot ? (
            <>
              <Text size="sm" fw={600}>
                {cellName(slot.cell)}
              </Text>
              <Text size="sm">{progressText(slot.progress)}</Text>
            </>
          ) : (
            <LiveEstimate progress={progress} />
          )}
          <Text size="xs" className="dim">
            Not final yet. If you cancel, everything measured so far is kept.
          </Text>
        </Stack>
      </Group>
    </Stack>
  );
}

function LiveEstimate({ progress }: { progress: Standing | null }) {
  if (progress?.estimateMs == null) return <Text size="sm">No estimate yet.</Text>;
  return <Text size="sm">Live estimate {estimateText(progress.estimateMs, progress.halfWidth)}</Text>;
}

/** Announced at each quarter only, so that a screen reader is not talking all the time. */
function Announced({ percent }: { percent: number }) {
  return <VisuallyHidden role="status">{`${25 * Math.floor(percent / 25)} percent measured`}</VisuallyHidden>;
}
