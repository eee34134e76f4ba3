import { Button, Group, Progress, Stack, Text } from "@mantine/core";

import { useFetches } from "@/api/progress";
import type { ImportState } from "@/features/home/useModelImport";
import { bytes, percent } from "@/format/numbers";

/** The progress of importing a model. */
export function UnderWay({ now, stop }: { now: ImportState; stop: () => void }) {
  const fetches = useFetches();
  if (now.step === "idle" || now.step === "refused") return null;
  const fetched = now.step === "fetching" ? fetches.get(now.example) : undefined;
  const share = now.step === "sending" ? now.share : fetched?.total_bytes ? Math.min(1, fetched.done_bytes / fetched.total_bytes) : null;
  const isSending = now.step === "sending" && now.share < 1;
  const arrived = fetched ? `: ${bytes(fetched.done_bytes)}${fetched.total_bytes ? ` of ${bytes(fetched.total_bytes)}` : ""}` : " …";
  const words = isSending
    ? `Sending ${now.name}: ${percent(now.share)}`
    : now.step === "fetching"
      ? `Downloading ${now.name}${arrived}`
      : `Inspecting ${now.name} …`;
  return (
    <div className="drop">
      <Stack gap="xs" w="100%" maw={420}>
        <Text size="sm" ta="center" role="status" style={{ overflowWrap: "anywhere" }}>
          {words}
        </Text>
        <Progress value={share === null ? 100 : share * 100} animated={!isSending} aria-label={words} />
        {isSending && (
          <Group justify="center">
            <Button size="xs" variant="default" onClick={stop}>
              Stop
            </Button>
          </Group>
        )}
      </Stack>
    </div>
  );
}
