import { Badge, Button, Card, Group, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { doctorQuery } from "@/api/queries";
import type { DoctorDocument } from "@/api/schema.gen";
import { findingsOf, type Finding, type FindingState } from "@/features/system/facts";
import { Ago } from "@/ui/Ago";
import { Copy } from "@/ui/Copy";
import { Section } from "@/ui/Section";
import { Ticked } from "@/ui/Ticked";
import { Trouble } from "@/ui/Trouble";

const SIGNS: Record<FindingState, { sign: string; color: string; word: string }> = {
  ok: { sign: "✓", color: "green", word: "good" },
  warning: { sign: "!", color: "yellow", word: "take care" },
  problem: { sign: "✕", color: "red", word: "problem" },
  unknown: { sign: "?", color: "gray", word: "not shown" },
};
const VERDICTS: Record<DoctorDocument["verdict"], { sign: string; color: string; means: string }> = {
  fit: { sign: "✓", color: "green", means: "Numbers from this machine can be trusted." },
  "fit with care": { sign: "!", color: "yellow", means: "Comparisons are reliable; single numbers may change from day to day." },
  unfit: { sign: "✕", color: "red", means: "Numbers measured now would be misleading. Fix what is marked, then check the machine again." },
};

/** Is this machine fit to measure? Only on request, since the check takes two seconds of a core. */
export function Health() {
  const doctor = useQuery(doctorQuery);
  const examine = (
    <Button size="xs" variant={doctor.data ? "default" : "filled"} loading={doctor.isFetching} onClick={() => void doctor.refetch()}>
      {doctor.data ? "Check again" : "Check this machine"}
    </Button>
  );
  return (
    <Section title="Measurement health" actions={examine}>
      {doctor.isError && !doctor.isFetching && <Trouble error={doctor.error} retry={() => void doctor.refetch()} />}
      {doctor.isFetching && !doctor.data && <Progress value={100} animated aria-label="Checking the machine" />}
      {!doctor.data && !doctor.isError && (
        <Text size="sm" className="dim">
          {doctor.isFetching
            ? "Checking clock, load, frequency and noise…"
            : "Is this machine fit to measure? Checking clock, load, frequency and noise takes about two seconds, on one core."}
        </Text>
      )}
      {doctor.data && <Diagnosis doctor={doctor.data} />}
    </Section>
  );
}

function Diagnosis({ doctor }: { doctor: DoctorDocument }) {
  const findings = findingsOf(doctor);
  const { sign, color, means } = VERDICTS[doctor.verdict];
  const problems = findings.filter((finding) => finding.state !== "ok");
  const passed = findings.filter((finding) => finding.state === "ok");
  return (
    <Stack gap="sm" role="status">
      <Group gap="xs">
        <Badge size="lg" color={color} variant="light" tt="none" leftSection={<span aria-hidden>{sign}</span>}>
          {doctor.verdict}
        </Badge>
        <Text size="sm">{means}</Text>
        <Ago at={doctor.created_at} />
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
        {problems.map((finding) => (
          <FindingCard key={finding.name} finding={finding} />
        ))}
      </SimpleGrid>
      {passed.length > 0 && (
        <Group gap={6}>
          {passed.map((finding) => (
            <Badge key={finding.name} color="green" variant="light" tt="none" leftSection={<span aria-hidden>✓</span>}>
              {finding.name}: {finding.value}
            </Badge>
          ))}
        </Group>
      )}
    </Stack>
  );
}

function FindingCard({ finding }: { finding: Finding }) {
  const { sign, color, word } = SIGNS[finding.state];
  const command = finding.fix?.slice(finding.fix.indexOf("sudo ")) ?? "";
  return (
    <Card padding="xs">
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={600}>
          {finding.name.charAt(0).toUpperCase() + finding.name.slice(1)}
        </Text>
        <Badge color={color} variant="light" tt="none" leftSection={<span aria-hidden>{sign}</span>}>
          {word}
        </Badge>
      </Group>
      <Text size="sm">
        <Ticked text={finding.value} />
      </Text>
      {finding.effect && (
        <Text size="xs" className="dim">
          Effect: <Ticked text={finding.effect} />
        </Text>
      )}
      {finding.fix && (
        <Group gap={4} wrap="nowrap">
          <Text size="xs" style={{ overflowWrap: "anywhere" }}>
            Fix: <Ticked text={finding.fix} />
          </Text>
          {command.startsWith("sudo ") && <Copy text={command} label="Copy the command" />}
        </Group>
      )}
    </Card>
  );
}
