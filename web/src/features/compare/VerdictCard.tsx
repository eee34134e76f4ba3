import { Badge, Card, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { SettingDocument } from "@/api/schema.gen";

// The settings that matter most, as the server names them.
const FIRST = ["engine", "precision", "cores", "batch size", "instances", "device", "input shapes", "instruction sets", "CPU"];

type Props = {
  sentence: string;
  /** Something is clearly faster somewhere. */
  isRanked: boolean;
  basis?: ReactNode;
  settings?: readonly SettingDocument[];
  actions?: ReactNode;
  children?: ReactNode;
};

/** One sentence, and what it rests on. */
export function VerdictCard({ sentence, isRanked, basis, settings = [], actions, children }: Props) {
  const main = settings.filter((setting) => FIRST.includes(setting.name));
  const same = main.filter((setting) => !setting.differs && setting.a !== null).map((setting) => setting.name);
  const other = main.filter((setting) => setting.differs);
  return (
    <Card component="section" aria-label="Verdict" style={{ borderLeft: `4px solid var(--mantine-color-${isRanked ? "dyno-filled" : "gray-5"})` }}>
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start" gap="xs">
          <Text fw={650} size="lg" flex={1} miw={220} aria-live="polite">
            {sentence}
          </Text>
          {!isRanked && (
            <Badge color="gray" variant="light" tt="none">
              not ranked
            </Badge>
          )}
        </Group>
        {basis}
        {(same.length > 0 || other.length > 0) && (
          <Text size="sm" className="dim">
            {same.length > 0 && `Same ${same.join(", ")}. `}
            {other.length > 0 && `⚠ Different: ${other.map((setting) => `${setting.name} (${setting.a ?? "–"} against ${setting.b ?? "–"})`).join(", ")}.`}
          </Text>
        )}
        {children}
        {actions}
      </Stack>
    </Card>
  );
}
