import { Button, Card, Group, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { CountsDocument } from "@/api/parts";

/** The way from nothing to a verdict, ticked off step by step. */
export function Guide({ pid, counts, isMeasured, isCompared }: { pid: number; counts: CountsDocument; isMeasured: boolean; isCompared: boolean }) {
  const steps: [title: string, isDone: boolean, action: ReactNode][] = [
    [
      "Add a model",
      counts.models > 0,
      <Button key="model" size="xs" variant="light" miw="max-content" renderRoot={(props) => <Link {...props} to="/new" search={{ project: pid }} />}>
        Add model
      </Button>,
    ],
    [
      counts.active_jobs > 0 && !isMeasured ? "Measure it (under way)" : "Measure it",
      isMeasured,
      <Button
        key="measure"
        size="xs"
        variant="light"
        miw="max-content"
        renderRoot={(props) => <Link {...props} to="/p/$pid/benchmarks" params={{ pid }} search={{ add: true }} />}
      >
        Add benchmark
      </Button>,
    ],
    [
      "Compare engines, batch sizes or versions",
      isCompared,
      <Button key="compare" size="xs" variant="light" miw="max-content" renderRoot={(props) => <Link {...props} to="/p/$pid/compare" params={{ pid }} />}>
        Compare
      </Button>,
    ],
  ];
  const now = steps.findIndex(([, isDone]) => !isDone);
  return (
    <Card component="section" aria-label="First steps">
      <Title order={2} size="h4" mb="sm">
        First steps
      </Title>
      <Stack gap="sm" component="ol" p={0} m={0} style={{ listStyle: "none" }}>
        {steps.map(([title, isDone, action], index) => (
          <li key={title}>
            <Group gap="sm" wrap="nowrap">
              <ThemeIcon role="img" radius="xl" size={26} variant={isDone ? "filled" : "light"} aria-label={isDone ? "done" : "to do"}>
                {isDone ? <IconCheck size={16} /> : <span>{index + 1}</span>}
              </ThemeIcon>
              <Text size="sm" td={isDone ? "line-through" : undefined} className={isDone ? "dim" : undefined}>
                {title}
              </Text>
              {index === now && !(index === 1 && counts.active_jobs > 0) && action}
            </Group>
          </li>
        ))}
      </Stack>
    </Card>
  );
}
