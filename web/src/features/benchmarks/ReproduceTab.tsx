import { Card, Code, Group, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { resultQuery } from "@/api/queries";
import type { BenchmarkDocument, BenchmarkTold } from "@/api/schema.gen";
import { reproductions } from "@/features/benchmarks/reproduce";
import { environmentOf } from "@/features/benchmarks/environment";
import { Copy } from "@/ui/Copy";
import { Trouble } from "@/ui/Trouble";

export function isBenchmark(value: unknown): value is BenchmarkDocument {
  return typeof value === "object" && value !== null && "schema" in value && value.schema === "modeldyno.benchmark/1";
}

/** The same again: in a terminal, over HTTP, in Python; and what it ran on. */
export function ReproduceTab({ benchmark }: { benchmark: BenchmarkTold }) {
  return (
    <Stack gap="md">
      <Text size="sm" className="dim">
        Each text runs as it is pasted. <Code>$MODELDYNO_TOKEN</Code> is a variable, so that the token stays out of your history: <Code>modeldyno token</Code> shows it.
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
      {benchmark.latest_run && <Environment runId={benchmark.latest_run.id} state={benchmark.latest_run.state} />}
    </Stack>
  );
}

function Environment({ runId, state }: { runId: string; state: string }) {
  const result = useQuery({ ...resultQuery(runId), enabled: state !== "queued" && state !== "running" });
  if (state === "queued" || state === "running") return <Text className="dim">The environment is told when it is done.</Text>;
  if (result.isError) return <Trouble error={result.error} />;
  if (!isBenchmark(result.data)) return <Skeleton height={200} />;
  return (
    <Card component="section" aria-label="Environment">
      <Title order={3} size="h5">
        Environment
      </Title>
      <Table.ScrollContainer minWidth={280}>
        <Table aria-label="Environment">
          <Table.Tbody>
            {environmentOf(result.data).map(([name, value]) => (
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
