import { Badge, Button, Group, ScrollArea, Skeleton, Stack, Text, TextInput, Tooltip } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { examplesQuery } from "@/api/queries";
import { bytes } from "@/format/numbers";
import { formatName } from "@/format/words";
import { Trouble } from "@/ui/Trouble";

/** Models to try, from the catalogue; those that are not available here say why. */
export function ExampleGallery({ choose }: { choose: (slug: string, name: string) => void }) {
  const [text, setText] = useState("");
  const examples = useQuery(examplesQuery);
  if (examples.isError) return <Trouble error={examples.error} again={() => void examples.refetch()} />;
  if (!examples.data) return <Skeleton height={200} />;
  const sought = text.trim().toLowerCase();
  const rows = examples.data.examples
    .filter((one) => `${one.name} ${one.framework} ${one.domain}`.toLowerCase().includes(sought))
    .sort((a, b) => rank(a) - rank(b));
  return (
    <Stack gap="xs">
      <TextInput
        size="xs"
        leftSection={<IconSearch size={14} aria-hidden />}
        placeholder="Find an example"
        aria-label="Find an example"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <ScrollArea.Autosize mah={300} type="auto">
        <Stack gap={0} role="list" aria-label="Examples">
          {rows.map((one) => {
            const reason = !one.available ? (one.why_not ?? "not available here") : !one.can_run ? `no engine here reads ${formatName(one.format)}` : "";
            return (
              <Group key={one.slug} role="listitem" justify="space-between" wrap="nowrap" py={4} pr="sm" gap="sm">
                <Stack gap={0} style={{ minWidth: 0 }}>
                  <Group gap={8}>
                    <Text size="sm" fw={600}>
                      {one.name}
                    </Text>
                    <Badge size="sm" variant="default" tt="none">
                      {formatName(one.format)}
                    </Badge>
                  </Group>
                  <Text size="xs" className="dim">
                    {[one.domain, one.size_bytes != null && bytes(one.size_bytes), reason && `not available: ${reason}`].filter(Boolean).join(" · ")}
                  </Text>
                </Stack>
                <Tooltip label={reason ? `${reason}. ${one.fix ?? ""}` : "Add it to a new project"}>
                  <Button
                    size="compact-xs"
                    variant="light"
                    data-disabled={Boolean(reason) || undefined}
                    aria-disabled={Boolean(reason)}
                    onClick={() => !reason && choose(one.slug, one.name)}
                    aria-label={`Use ${one.name}`}
                  >
                    Use
                  </Button>
                </Tooltip>
              </Group>
            );
          })}
          {rows.length === 0 && (
            <Text size="sm" className="dim" py="sm">
              No example name contains that.
            </Text>
          )}
        </Stack>
      </ScrollArea.Autosize>
    </Stack>
  );
}

const rank = (one: { available: boolean; can_run: boolean }): number => (one.available && one.can_run ? 0 : one.available ? 1 : 2);
