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
  if (examples.isError) return <Trouble error={examples.error} retry={() => void examples.refetch()} />;
  if (!examples.data) return <Skeleton height={200} />;
  const searchText = text.trim().toLowerCase();
  const rows = examples.data.examples
    .filter((example) => `${example.name} ${example.framework} ${example.domain}`.toLowerCase().includes(searchText))
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
          {rows.map((example) => {
            const reason = !example.available
              ? (example.why_not ?? "not available here")
              : !example.can_run
                ? `no engine here reads ${formatName(example.format)}`
                : "";
            return (
              <Group key={example.slug} role="listitem" justify="space-between" wrap="nowrap" py={4} pr="sm" gap="sm">
                <Stack gap={0} style={{ minWidth: 0 }}>
                  <Group gap={8}>
                    <Text size="sm" fw={600}>
                      {example.name}
                    </Text>
                    <Badge size="sm" variant="default" tt="none">
                      {formatName(example.format)}
                    </Badge>
                  </Group>
                  <Text size="xs" className="dim">
                    {[example.domain, example.size_bytes != null && bytes(example.size_bytes), reason && `not available: ${reason}`]
                      .filter(Boolean)
                      .join(" · ")}
                  </Text>
                </Stack>
                <Tooltip label={reason ? `${reason}. ${example.fix ?? ""}` : "Add it to a new project"}>
                  <Button
                    size="compact-xs"
                    variant="light"
                    data-disabled={Boolean(reason) || undefined}
                    aria-disabled={Boolean(reason)}
                    onClick={() => !reason && choose(example.slug, example.name)}
                    aria-label={`Use ${example.name}`}
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

const rank = (example: { available: boolean; can_run: boolean }): number => (example.available && example.can_run ? 0 : example.available ? 1 : 2);
