import { Anchor, Breadcrumbs, Button, Group, ScrollArea, Skeleton, Stack, Text, UnstyledButton } from "@mantine/core";
import { IconFile, IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { filesQuery } from "@/api/queries";
import { bytes } from "@/format/numbers";
import { Empty } from "@/ui/Empty";
import { Trouble } from "@/ui/Trouble";

/** Files of the server's own disk, below its configured folders. */
export function ServerFolders({ choose }: { choose: (path: string) => void }) {
  const [path, setPath] = useState("");
  const files = useQuery(filesQuery(path));
  if (files.isError) return <Trouble error={files.error} retry={() => (path ? setPath("") : void files.refetch())} />;
  const steps = path.split("/").filter(Boolean);
  const pathTo = (name: string) => (path ? `${path}/${name}` : name);
  return (
    <Stack gap="xs">
      <Breadcrumbs>
        <Anchor component="button" type="button" size="sm" onClick={() => setPath("")}>
          All folders
        </Anchor>
        {steps.map((step, index) => (
          <Anchor key={index} component="button" type="button" size="sm" onClick={() => setPath(steps.slice(0, index + 1).join("/"))}>
            {step}
          </Anchor>
        ))}
      </Breadcrumbs>
      {!files.data ? (
        <Skeleton height={140} />
      ) : files.data.entries.length === 0 ? (
        <Empty title="Nothing here">
          {path
            ? "This folder has no files that can be opened."
            : "Put models into models/exported in the workspace, or start the server with --models-root DIR."}
        </Empty>
      ) : (
        <ScrollArea.Autosize mah={300} type="auto">
          <Stack gap={0} role="list" aria-label="Files on the server">
            {files.data.entries.map((entry) => (
              <Group key={entry.name} role="listitem" justify="space-between" wrap="nowrap" py={2} pr="sm">
                {entry.kind === "folder" ? (
                  <UnstyledButton onClick={() => setPath(pathTo(entry.name))} py={4}>
                    <Group gap={8} wrap="nowrap">
                      <IconFolder size={18} aria-hidden />
                      <Text size="sm">{entry.name}</Text>
                    </Group>
                  </UnstyledButton>
                ) : (
                  <Group gap={8} wrap="nowrap" style={{ minWidth: 0 }}>
                    <IconFile size={18} aria-hidden />
                    <Text size="sm" truncate>
                      {entry.name}
                    </Text>
                    <Text size="xs" className="dim" style={{ whiteSpace: "nowrap" }}>
                      {bytes(entry.size_bytes)}
                    </Text>
                  </Group>
                )}
                {entry.kind === "file" && (
                  <Button size="compact-xs" variant="light" onClick={() => choose(pathTo(entry.name))} aria-label={`Use ${entry.name}`}>
                    Use
                  </Button>
                )}
              </Group>
            ))}
          </Stack>
        </ScrollArea.Autosize>
      )}
      {files.data?.is_cut && (
        <Text size="xs" className="dim">
          There are more than 1 000 files; the first ones are shown.
        </Text>
      )}
    </Stack>
  );
}
