import { Anchor, Badge, Card, Group, Skeleton, Stack, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { enginesQuery, systemQuery } from "@/api/queries";
import type { EngineDocument, HealthDocument } from "@/api/parts";
import { FITNESS, healthWords, machineWords } from "@/features/home/machine";
import { isForPeople } from "@/format/words";

/** This machine, its engines, and whether it is fit to measure. */
export function MachineLine() {
  const system = useQuery(systemQuery);
  const engines = useQuery(enginesQuery);
  const usable = engines.data?.engines.filter(isForPeople) ?? [];
  if (system.isPending) return <Skeleton height={64} />;
  return (
    <Card component="section" aria-label="This machine" padding="sm">
      <Stack gap={6}>
        <Group gap="xs">
          <Text size="sm">
            This machine: <strong>{system.data ? machineWords(system.data.machine) : "–"}</strong>
          </Text>
          {usable.map((engine) => (
            <Engine key={engine.name} engine={engine} />
          ))}
          <Anchor component={Link} to="/system" size="sm" ml="auto">
            details
          </Anchor>
        </Group>
        {system.data && <Health health={system.data.health} />}
      </Stack>
    </Card>
  );
}

function Health({ health }: { health: HealthDocument }) {
  const { sign, color } = FITNESS[health.verdict];
  const words = healthWords(health);
  return (
    <Group gap="xs">
      <Text size="sm">Measurement health:</Text>
      <Tooltip label={health.sentence}>
        <Badge color={color} variant="light" tt="none" tabIndex={0} leftSection={<span aria-hidden>{sign}</span>}>
          {health.verdict}
        </Badge>
      </Tooltip>
      {words && (
        <Text size="sm" className="dim">
          ({words})
        </Text>
      )}
    </Group>
  );
}

function Engine({ engine }: { engine: EngineDocument }) {
  const why = engine.usable ? `${engine.title} ${engine.version ?? ""} works here` : `${engine.why_not ?? "not usable here"}. To get it: ${engine.install}`;
  return (
    <Tooltip label={why}>
      <Badge variant={engine.usable ? "light" : "default"} color={engine.usable ? "green" : "gray"} tt="none" tabIndex={0}>
        {engine.title} {engine.usable ? "✓" : "–"}
      </Badge>
    </Tooltip>
  );
}
