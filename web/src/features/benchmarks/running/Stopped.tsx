import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { BenchmarkDetailsDocument } from "@/api/schema.gen";
import { moveJob, rerun, runNow } from "@/features/benchmarks/actions";
import { keptWords } from "@/features/benchmarks/states";
import { Copy } from "@/ui/Copy";

/** Why there is no whole result, and what to do about it. */
export function Stopped({ benchmark }: { benchmark: BenchmarkDetailsDocument }) {
  const { state, latest_run: run, id, project_id: pid } = benchmark;
  const jobId = run?.job_id ?? null;
  const log = (
    <Button
      size="xs"
      variant="default"
      renderRoot={(rest) => <Link to="/p/$pid/benchmarks/$bid" params={{ pid, bid: id }} search={{ tab: "log" }} {...rest} />}
    >
      Show log
    </Button>
  );
  const edit = (
    <Button size="xs" variant="default" renderRoot={(rest) => <Link to="/p/$pid/benchmarks" params={{ pid }} search={{ add: true, from: id }} {...rest} />}>
      Edit copy
    </Button>
  );
  const resume = jobId !== null && (
    <Button size="xs" onClick={() => void moveJob(jobId, "resume")}>
      Resume
    </Button>
  );
  if (state === "draft") {
    return (
      <Group gap="sm">
        <Text size="sm">Not run yet.</Text>
        <Button size="xs" onClick={() => void runNow(id)}>
          Run
        </Button>
      </Group>
    );
  }
  if (state === "failed") {
    const failure = run?.failure;
    const report = [failure?.code, failure?.title, failure?.detail, failure?.fix, benchmark.command].filter(Boolean).join("\n");
    return (
      <Alert color="red" variant="light" title={failure?.title ?? "It failed"} role="alert">
        <Stack gap="xs">
          {failure?.detail && <Text size="sm">{failure.detail}.</Text>}
          {failure?.fix && <Text size="sm">{failure.fix}.</Text>}
          <Group gap="xs">
            <Button size="xs" onClick={() => void rerun(id)}>
              Re-run Benchmark
            </Button>
            {edit}
            {log}
            <Copy text={report} label="Copy report" />
          </Group>
        </Stack>
      </Alert>
    );
  }
  if (state === "cancelled" || state === "interrupted") {
    const title = state === "cancelled" ? "Cancelled" : "Interrupted: the server stopped while it was measuring";
    return (
      <Alert color={state === "cancelled" ? "gray" : "orange"} variant="light" title={title}>
        <Group gap="sm">
          <Text size="sm">{keptWords(benchmark.cells)}, marked partial if more was planned.</Text>
          {resume}
          {edit}
        </Group>
      </Alert>
    );
  }
  return null;
}
