import { Badge, Code, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { enginesQuery } from "@/api/queries";
import type { EngineTold } from "@/api/schema.gen";
import { engineName, formatName } from "@/format/words";
import { Copy } from "@/ui/Copy";
import { Section } from "@/ui/Section";
import { Trouble } from "@/ui/Trouble";

export function Engines() {
  const engines = useQuery(enginesQuery);
  return (
    <Section title="Engines">
      {engines.isError && <Trouble error={engines.error} again={() => void engines.refetch()} />}
      {engines.isPending && <Skeleton height={160} />}
      {engines.data && (
        <Table.ScrollContainer minWidth={520}>
          <Table aria-label="Engines">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Engine</Table.Th>
                <Table.Th>Version</Table.Th>
                <Table.Th>Reads</Table.Th>
                <Table.Th>Devices it can use</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {engines.data.engines.map((engine) => (
                <Row key={engine.name} engine={engine} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Section>
  );
}

function Row({ engine }: { engine: EngineTold }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={2}>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {engineName(engine.name)}
            </Text>
            <Badge color={engine.usable ? "green" : "gray"} variant="light" tt="none" leftSection={<span aria-hidden>{engine.usable ? "✓" : "–"}</span>}>
              {engine.usable ? "usable" : "not here"}
            </Badge>
          </Group>
          {engine.why_not && (
            <Text size="xs" className="dim">
              {engine.why_not}
            </Text>
          )}
          {!engine.usable && (
            <Group gap={4} wrap="nowrap">
              <Code style={{ overflowWrap: "anywhere" }}>{engine.install}</Code>
              <Copy text={engine.install} label="Copy the command" />
            </Group>
          )}
        </Stack>
      </Table.Td>
      <Table.Td>{engine.version ?? "–"}</Table.Td>
      <Table.Td>{engine.formats.map(formatName).join(", ")}</Table.Td>
      <Table.Td>{engine.devices.join(", ")}</Table.Td>
    </Table.Tr>
  );
}
