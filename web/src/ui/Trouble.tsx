import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";

import { Refused } from "@/api/client";

type ErrorText = { title: string; why: string; fix: string; code?: string };

export function errorText(error: unknown): ErrorText {
  if (error instanceof Refused) return { title: error.message, why: error.why, fix: error.fix, code: error.code };
  // A bug of the page, not of the connection: `fetch` fails with a TypeError.
  if (error instanceof Error && !(error instanceof TypeError))
    return { title: "This page has crashed", why: error.message, fix: "Reload the page; your results are safe" };
  return { title: "The server is not responding", why: "It may have been stopped", fix: "Start it again; this page will reconnect" };
}

/** As written in an error: without its full stop, and not always with a capital. */
function sentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** What went wrong, why, and what to do; never a dead end. */
export function Trouble({ error, retry, children }: { error: unknown; retry?: () => void; children?: ReactNode }) {
  const { title, why, fix, code } = errorText(error);
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle />} title={title} role="alert">
      <Stack gap="xs">
        {why && <Text size="sm">{sentence(why)}</Text>}
        {fix && <Text size="sm">{sentence(fix)}</Text>}
        <Group gap="sm">
          {retry && (
            <Button size="xs" variant="default" onClick={retry}>
              Try again
            </Button>
          )}
          {children}
          {code && <Code>{code}</Code>}
        </Group>
      </Stack>
    </Alert>
  );
}
