import { Card, Code, Group, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { benchmarkQuery, projectQuery, resultQuery } from "@/api/queries";
import type { BenchmarkDetailsDocument, BenchmarkDocument, ComparisonDocument, LatestRunSummary, ProfileDocument } from "@/api/schema.gen";
import { reproductions } from "@/features/benchmarks/reproduce/reproduce";
import { differences, environmentOf } from "@/features/benchmarks/reproduce/environment";
import { Copy } from "@/ui/Copy";
import { Trouble } from "@/ui/Trouble";

export function isBenchmark(result: BenchmarkDocument | ComparisonDocument | ProfileDocument | undefined): result is BenchmarkDocument {
  return result?.schema === "modeldyno.benchmark/2";
}

/** The same again: in a terminal, over HTTP, in Python; and what it ran on. */
export function ReproduceTab({ benchmark }: { benchmark: BenchmarkDetailsDocument }) {
  return (
    <Stack gap="md">
      <Text size="sm" className="dim">
        Paste and run any of these on the server&apos;s machine. On another machine, first set <Code>MODELDYNO_TOKEN</Code> to the output of{" "}
        <Code>modeldyno token</Code> on the server. Using a variable keeps the token out of your history.
      </Text>
      {reproductions(benchmark, window.location.origin).map(({ name, text }) => (
        <Stack key={name} gap={4} component="section" aria-label={name}>
          <Group justify="space-between">
            <Title order={3} size="h5">
              {name}
            </Title>
            <Copy text={text} label={`Copy ${name}`} />
          </Group>
          <Code block tabIndex={0} style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere", maxHeight: 320 }}>
            {text}
          </Code>
        </Stack>
      ))}
      {benchmark.latest_run && <Environment benchmark={benchmark} run={benchmark.latest_run} />}
    </Stack>
  );
}

function Environment({ benchmark, run }: { benchmark: BenchmarkDetailsDocument; run: LatestRunSummary }) {
  const isOver = run.state !== "queued" && run.state !== "running";
  const result = useQuery({ ...resultQuery(run.id), enabled: isOver });
  if (!isOver) return <Text className="dim">The environment is listed once the run has finished.</Text>;
  if (result.isError) return <Trouble error={result.error} />;
  if (!isBenchmark(result.data)) return <Skeleton height={200} />;
  return (
    <>
      <Differences benchmark={benchmark} mine={result.data} />
      <Rows title="Environment" rows={environmentOf(result.data)} />
    </>
  );
}

/** The differences from the environment of the baseline. */
function Differences({ benchmark, mine }: { benchmark: BenchmarkDetailsDocument; mine: BenchmarkDocument }) {
  const baseline = useQuery(projectQuery(benchmark.project_id)).data?.baseline_benchmark_id ?? null;
  const isOther = baseline !== null && baseline !== benchmark.id;
  const other = useQuery({ ...benchmarkQuery(baseline ?? 0), enabled: isOther }).data?.latest_run;
  const theirs = useQuery({ ...resultQuery(other?.id ?? ""), enabled: isOther && other != null }).data;
  if (!isOther || !isBenchmark(theirs)) return null;
  const differing = differences(mine, theirs);
  if (differing.length === 0) return <Text size="sm">Same environment as baseline #{baseline}.</Text>;
  return <Rows title={`Differs from baseline #${baseline}`} rows={differing.map((row) => [row.name, `${row.mine}; there ${row.theirs}`])} />;
}

function Rows({ title, rows }: { title: string; rows: readonly (readonly [name: string, value: string])[] }) {
  return (
    <Card component="section" aria-label={title}>
      <Title order={3} size="h5">
        {title}
      </Title>
      <Table.ScrollContainer minWidth={280}>
        <Table aria-label={title}>
          <Table.Tbody>
            {rows.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" fw={500} w={180}>
                  {name}
                </Table.Th>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
