/** How the page shows a toy: its entry of the page's table of kinds. */
import { useQuery } from "@tanstack/react-query";
import { linkOptions } from "@tanstack/react-router";

import { queryKeys } from "@/api/queryKeys";
import { Chart } from "@/charts/Chart";
import type { Drawing } from "@/charts/Drawn";
import { look } from "@/charts/palette";
import type { Kind } from "@/kinds/kinds";
import { StateBadge } from "@/ui/badges";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { Trouble } from "@/ui/Trouble";

type Toy = { name: string; state: "draft" | "queued" | "running" | "done"; latest_run: { id: string } | null };
type ToyDocument = { schema: "test.toy/1"; model: string; eyes: number[] };

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(`/api/v1/${path}`);
  if (!answer.ok) throw new Error(`${path}: the server answered ${answer.status}`);
  return (await answer.json()) as T; // the API has no types for kinds of tests
}

function ToySection({ id }: { id: number }) {
  const toy = useQuery({ queryKey: [...queryKeys.kind("toy"), id], queryFn: () => get<Toy>(`toys/${id}`) });
  const run = toy.data?.state === "done" ? toy.data.latest_run?.id : undefined;
  const result = useQuery({ queryKey: [...queryKeys.runs, run, "result"], queryFn: () => get<ToyDocument>(`runs/${run}/result`), enabled: run !== undefined });
  const error = toy.error ?? result.error;
  if (error) return <Trouble error={error} />;
  if (!toy.data) return null;
  return (
    <Page title={toy.data.name} actions={<StateBadge state={toy.data.state} />}>
      {result.data && (
        <Section title="Eyes">
          <Chart
            title="Eyes of each round"
            summary={`${result.data.eyes.reduce((sum, eyes) => sum + eyes, 0)} eyes in ${result.data.eyes.length} rounds`}
            reading="A bar is a round."
            draw={drawEyes(result.data.eyes)}
            table={{ columns: ["round", "eyes"], rows: result.data.eyes.map((eyes, round) => [round, eyes]) }}
          />
        </Section>
      )}
    </Page>
  );
}

const drawEyes =
  (eyes: readonly number[]): Drawing =>
  ({ isDark, ink, line }) => ({
    grid: { left: 8, right: 24, top: 16, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: { type: "category", data: eyes.map((_, round) => `round ${round}`), axisLabel: { color: ink } },
    yAxis: { type: "value", axisLabel: { color: ink }, splitLine: { lineStyle: { color: line } } },
    series: [{ type: "bar", data: [...eyes], itemStyle: { color: look(0, isDark).color } }],
  });

export const EXTRA_KINDS: Record<string, Kind> = {
  toy: {
    title: "Toy",
    place: (pid, id) => linkOptions({ to: "/p/$pid/$kind/$id", params: { pid, kind: "toy", id } }),
    section: ToySection,
  },
};
