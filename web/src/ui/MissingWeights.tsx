import { Alert, Button, FileButton, Group, Progress, Stack, Text } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { modelQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import type { ModelDetailsDocument } from "@/api/schema.gen";
import { sendWeights } from "@/api/upload";
import { Trouble } from "@/ui/Trouble";

/** Weights files of the model that are not uploaded yet. */
export function MissingWeights({ model }: { model: ModelDetailsDocument }) {
  if (model.missing.length === 0) return null;
  return (
    <Alert color="orange" title="The weights of this model are in separate files">
      <Stack gap="xs">
        <Text size="sm">Send {model.missing.length === 1 ? "this one" : "these"}, too, and the model can be measured.</Text>
        {model.missing.map((name) => (
          <Weights key={name} modelId={model.id} name={name} />
        ))}
      </Stack>
    </Alert>
  );
}

function Weights({ modelId, name }: { modelId: number; name: string }) {
  const [share, setShare] = useState(0);
  const cache = useQueryClient();
  const send = useMutation({
    mutationFn: (file: File) => sendWeights(modelId, name, file, setShare).done,
    onSuccess: (model) => {
      cache.setQueryData(modelQuery(modelId).queryKey, model);
      void cache.invalidateQueries({ queryKey: queryKeys.models });
    },
  });
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <FileButton onChange={(file) => file && send.mutate(file)}>
          {(props) => (
            <Button {...props} size="xs" variant="light" loading={send.isPending} leftSection={<IconUpload size={14} />} aria-label={`Send ${name}`}>
              Send
            </Button>
          )}
        </FileButton>
      </Group>
      {send.isPending && <Progress value={share * 100} aria-label={`Sending ${name}`} />}
      {send.isError && <Trouble error={send.error} />}
    </Stack>
  );
}
