import { Alert } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** Something to know before relying on what is below. Its title is in ink: yellow on yellow is hard to read. */
export function Caution({ title, children, close }: { title: string; children: ReactNode; close?: () => void }) {
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<IconAlertTriangle />}
      title={title}
      withCloseButton={close !== undefined}
      closeButtonLabel="Close"
      onClose={close}
      styles={{ title: { color: "var(--mantine-color-text)" } }}
    >
      {children}
    </Alert>
  );
}
