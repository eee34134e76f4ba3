import { Group, Stack, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";

/** A page: its one h1, what can be done here, and its content. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  useDocumentTitle(`${title} · Modeldyno`);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="center" gap="sm">
        {/* A long title leaves room for a menu beside it. */}
        <Title order={1} size="h2" maw={actions ? "calc(100% - 3.25rem)" : undefined} style={{ overflowWrap: "anywhere" }}>
          {title}
        </Title>
        {actions && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
