import { Progress, Stack, Text } from "@mantine/core";

import type { SystemDocument } from "@/api/schema.gen";
import { bytes } from "@/format/numbers";
import { Section } from "@/ui/Section";

const DATABASES = { sqlite: "SQLite", postgresql: "PostgreSQL" };
const SANDBOXES: Record<SystemDocument["sandbox"]["level"], string> = {
  full: "Models run fully sandboxed: no network, and no files but their own.",
  partial: "Models run partly sandboxed. Not restricted:",
  none: "Models run without a sandbox here: measure only files that you trust.",
  unusable: "Workers cannot be started here, so nothing can be measured.",
};

/** Where results are stored, and how models are sandboxed. */
export function Room({ system }: { system: SystemDocument }) {
  const { free_bytes: free, total_bytes: total, database } = system.workspace;
  const used = total > 0 ? (100 * (total - free)) / total : 0;
  return (
    <Section title="Workspace and sandbox">
      <Stack gap={4}>
        <Text size="sm">
          {bytes(free)} free of {bytes(total)} on the workspace’s disk, in {DATABASES[database]}
        </Text>
        <Progress value={used} color={used > 95 ? "red" : undefined} aria-label="Disk in use" />
      </Stack>
      <Text size="sm">
        {SANDBOXES[system.sandbox.level]} {system.sandbox.missing.join(", ")}
      </Text>
    </Section>
  );
}
