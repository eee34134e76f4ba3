import { Button, FileButton, Stack, Text } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { useState, type DragEvent } from "react";

import { ACCEPTED } from "@/features/home/chosenFiles";

/** Where files are dropped or chosen. */
export function DropArea({ take }: { take: (files: readonly File[]) => void }) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take([...event.dataTransfer.files]);
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- only a pointer drops; the button inside is for the keyboard
    <div
      role="group"
      aria-label="Model file"
      className="drop"
      data-over={isOver || undefined}
      onDragOver={over}
      onDragEnter={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      data-testid="drop"
    >
      <Stack gap={6} align="center">
        <Text size="sm" ta="center">
          Drop a model here: .onnx, .pt2, .pt …
        </Text>
        <FileButton onChange={take} accept={ACCEPTED} multiple>
          {(props) => (
            <Button {...props} variant="light" leftSection={<IconUpload size={16} />}>
              Choose file
            </Button>
          )}
        </FileButton>
        <Text size="xs" className="dim" ta="center">
          Files that can contain code (.pt, .pt2) need your trust first. If a model has separate weights files, drop them together with it.
        </Text>
      </Stack>
    </div>
  );
}
