import { ActionIcon, Button, Card, Group, Stack, Text, Title, Tooltip } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { api, answerOf } from "@/api/client";
import type { NextStep } from "@/api/parts";
import { placeOf, stepKey } from "@/features/project/places";
import { Trouble } from "@/ui/Trouble";

/** What is worth doing next; each can be dismissed for good. */
export function NextSteps({ pid, steps }: { pid: number; steps: readonly NextStep[] }) {
  const [dismissed, setDismissed] = useLocalStorage<string[]>({ key: `modeldyno.dismissed.${pid}`, defaultValue: [], getInitialValueInEffect: false });
  const visible = steps.filter((step) => !dismissed.includes(stepKey(step)));
  if (visible.length === 0) return null;
  return (
    <Card component="section" aria-label="Next steps">
      <Title order={2} size="h4" mb="xs">
        Next steps
      </Title>
      <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {visible.map((step) => (
          <Step key={stepKey(step)} pid={pid} step={step} dismiss={() => setDismissed([...dismissed, stepKey(step)])} />
        ))}
      </Stack>
    </Card>
  );
}

function Step({ pid, step, dismiss }: { pid: number; step: NextStep; dismiss: () => void }) {
  const navigate = useNavigate();
  const place = placeOf(pid, step);
  const rerun = useMutation({
    mutationFn: (benchmark_id: number) => answerOf(api.POST("/api/v1/benchmarks/{benchmark_id}/rerun", { params: { path: { benchmark_id } } })),
    onSuccess: (benchmark) => void navigate({ to: "/p/$pid/benchmarks/$bid", params: { pid, bid: benchmark.id } }),
  });
  const act = () => {
    if (place) void navigate({ to: place.to, search: () => place.search ?? {} });
    else if (step.benchmark_id !== null) rerun.mutate(step.benchmark_id);
  };
  return (
    <li>
      <Group justify="space-between" gap="xs">
        <Text size="sm" style={{ overflowWrap: "anywhere", flex: "1 1 14rem" }}>
          {step.sentence}
        </Text>
        <Group gap={4} wrap="nowrap">
          <Button size="xs" variant="light" loading={rerun.isPending} onClick={act}>
            {step.label}
          </Button>
          <Tooltip label="Do not show this again">
            <ActionIcon variant="subtle" color="gray" onClick={dismiss} aria-label={`Dismiss: ${step.sentence}`}>
              <IconX size={14} />
            </ActionIcon>
          </Tooltip>
        </Group>
      </Group>
      {rerun.isError && <Trouble error={rerun.error} />}
    </li>
  );
}
