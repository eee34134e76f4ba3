import { Center, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

/** Nothing here yet, and what to do about it. */
export function Empty({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <Center py="xl">
      <Stack align="center" gap="xs" maw={520}>
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        {children && (
          <Text ta="center" className="dim" component="div">
            {children}
          </Text>
        )}
        {actions}
      </Stack>
    </Center>
  );
}
