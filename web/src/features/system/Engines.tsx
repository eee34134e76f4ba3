import { Badge, Card, Code, Group, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { engineTitle } from "@/api/engines";
import { enginesQuery } from "@/api/queries";
import type { EngineDocument } from "@/api/parts";
import { formatName, isForPeople } from "@/format/words";
import { Copy } from "@/ui/Copy";
import { Section } from "@/ui/Section";
import { Ticked } from "@/ui/Ticked";
import { Trouble } from "@/ui/Trouble";

export function Engines() {
  const engines = useQuery(enginesQuery);
  return (
    <Section title="Engines">
      {engines.isError && <Trouble error={engines.error} retry={() => void engines.refetch()} />}
      {engines.isPending && <Skeleton height={160} />}
      {engines.data && (
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="xs">
          {engines.data.engines.filter(isForPeople).map((engine) => (
            <EngineCard key={engine.name} engine={engine} />
          ))}
        </SimpleGrid>
      )}
    </Section>
  );
}

function EngineCard({ engine }: { engine: EngineDocument }) {
  const missing = Object.entries(engine.unavailable_devices);
  const notes = Object.entries(engine.device_notes);
  return (
    <Card padding="sm">
      <Stack gap={4}>
        <Group gap="xs" justify="space-between" wrap="nowrap">
          <Text fw={600}>
            {engine.title}{" "}
            <Text span size="sm" className="dim">
              {engine.version}
            </Text>
          </Text>
          <Badge color={engine.usable ? "green" : "gray"} variant="light" tt="none" leftSection={<span aria-hidden>{engine.usable ? "✓" : "–"}</span>}>
            {engine.usable ? "usable" : "not here"}
          </Badge>
        </Group>
        {engine.why_not && <Text size="sm">{engine.why_not}</Text>}
        {!engine.usable && (
          <Group gap={4} wrap="nowrap">
            <Code style={{ overflowWrap: "anywhere" }}>{engine.install}</Code>
            <Copy text={engine.install} label={`Copy how to install ${engine.title}`} />
          </Group>
        )}
        {engine.python && (
          <Text size="sm" className="dim" style={{ overflowWrap: "anywhere" }}>
            {engineTitle(engine.adapter)} in Python {engine.python} of its own: {engine.origin}
          </Text>
        )}
        <Text size="sm" className="dim">
          Reads {engine.formats.map(formatName).join(", ")}
        </Text>
        {engine.devices.length > 0 && (
          <Text size="sm" className="dim">
            Runs on {engine.devices.join(", ")}
          </Text>
        )}
        {[...missing, ...notes].map(([device, why]) => (
          <Text key={device} size="xs" className="dim" style={{ overflowWrap: "anywhere" }}>
            {device}: <Ticked text={why} />
          </Text>
        ))}
      </Stack>
    </Card>
  );
}
