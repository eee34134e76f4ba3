import { Anchor, Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { queries } from "@/api/cache";
import { Refused, api, answerOf } from "@/api/client";
import { benchmarkQuery, projectQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import type { VersusBaselineDocument } from "@/api/schema.gen";
import { attempt } from "@/features/benchmarks/actions";
import { setupText } from "@/features/benchmarks/results/cells";
import { versusWords } from "@/features/benchmarks/versus";

const patchBaseline = (pid: number, id: number | null, accept_noisy: boolean) =>
  answerOf(api.PATCH("/api/v1/projects/{project_id}", { params: { path: { project_id: pid } }, body: { baseline_benchmark_id: id, accept_noisy } })).then(
    (project) => {
      void queries.invalidateQueries({ queryKey: queryKeys.projects });
      void queries.invalidateQueries({ queryKey: queryKeys.benchmarks });
      return project;
    },
  );

/** A noisy benchmark becomes the baseline only after a confirmation. */
export async function setBaseline(pid: number, id: number | null): Promise<void> {
  try {
    await patchBaseline(pid, id, false);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) {
      await attempt("The baseline was not changed", Promise.reject(error instanceof Error ? error : new Error(String(error))));
      return;
    }
    const note = `baseline ${id}`;
    notifications.show({
      id: note,
      color: "orange",
      title: error.message,
      autoClose: false,
      message: (
        <Group gap="xs">
          <Text size="sm">{error.why}.</Text>
          <Button
            size="xs"
            variant="light"
            onClick={() => {
              notifications.hide(note);
              void attempt("The baseline was not changed", patchBaseline(pid, id, true));
            }}
          >
            Use it anyway
          </Button>
        </Group>
      ),
    });
  }
}

/** The baseline of the project, above the list. */
export function BaselineLine({ pid }: { pid: number }) {
  const id = useQuery(projectQuery(pid)).data?.baseline_benchmark_id ?? null;
  const baseline = useQuery({ ...benchmarkQuery(id ?? 0), enabled: id !== null }).data;
  if (id === null || !baseline) return null;
  return (
    <Group gap="xs">
      <Text size="sm">
        Baseline: <span aria-hidden>◆</span>{" "}
        <Anchor component={Link} to={`/p/${pid}/benchmarks/${id}`} size="sm" underline="always">
          #{id} {baseline.name}
        </Anchor>{" "}
        <Text span size="sm" className="dim">
          {setupText(baseline)}
        </Text>
      </Text>
      <Button size="compact-xs" variant="subtle" color="gray" onClick={() => void setBaseline(pid, null)}>
        No baseline
      </Button>
    </Group>
  );
}

/** `isShort`: in a table, where what the interval is of is a title. */
export function Versus({ id, versus, isShort = false }: { id: number; versus: VersusBaselineDocument | null; isShort?: boolean }) {
  const words = versusWords(id, versus);
  if (!words) return null;
  const basis = versus?.ratio && versus.benchmark_id !== id ? "95 % over the sessions of both runs; what changed between them is not in it" : "";
  return (
    <>
      <Text size="sm" fw={words.isClear ? 600 : 400} className={words.isClear ? undefined : "dim"} title={isShort && basis ? basis : undefined}>
        {words.text}
      </Text>
      {basis && !isShort && (
        <Text size="xs" className="dim">
          {basis}
        </Text>
      )}
    </>
  );
}
