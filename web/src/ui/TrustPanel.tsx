import { Alert, Button, Checkbox, Code, Group, List, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShieldCheck, IconShieldQuestion } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, answerOf } from "@/api/client";
import { modelQuery } from "@/api/queries";
import type { ModelDetailsDocument } from "@/api/schema.gen";
import { Ago } from "@/ui/Ago";
import { Copy } from "@/ui/Copy";
import { Trouble } from "@/ui/Trouble";

/** Whether a file that can run code is trusted, and how to trust it or to withdraw that. */
export function TrustPanel({ model }: { model: ModelDetailsDocument }) {
  const [isAsking, ask] = useDisclosure();
  const cache = useQueryClient();
  const keep = (updated: ModelDetailsDocument) => cache.setQueryData(modelQuery(model.id).queryKey, updated);
  const path = { model_id: model.id };
  const withdraw = useMutation({ mutationFn: () => answerOf(api.DELETE("/api/v1/models/{model_id}/trust", { params: { path } })), onSuccess: keep });
  if (!model.trust.is_needed) return null;
  if (model.trust.is_given)
    return (
      <Alert color="green" icon={<IconShieldCheck />} title="Trusted">
        <Group gap="sm">
          <Text size="sm">
            Exactly this file may be run here
            {model.trust.since && (
              <>
                {" "}
                since <Ago at={model.trust.since} />
              </>
            )}
            {model.trust.reason && `: “${model.trust.reason}”`}.
          </Text>
          <Button size="xs" variant="default" loading={withdraw.isPending} onClick={() => withdraw.mutate()}>
            Revoke trust
          </Button>
        </Group>
        {withdraw.isError && <Trouble error={withdraw.error} />}
      </Alert>
    );
  return (
    <Alert color="orange" icon={<IconShieldQuestion />} title="This kind of file can run code">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          It was inspected without running anything. Someone must trust it before it can be measured{model.trust.warning && ` (${model.trust.warning})`}.
        </Text>
        <Button size="xs" onClick={ask.open}>
          Review and trust …
        </Button>
      </Stack>
      {isAsking && <TrustDialog model={model} close={ask.close} keep={keep} />}
    </Alert>
  );
}

function TrustDialog({ model, close, keep }: { model: ModelDetailsDocument; close: () => void; keep: (updated: ModelDetailsDocument) => void }) {
  const [isSure, setSure] = useState(false);
  const [reason, setReason] = useState("");
  const path = { model_id: model.id };
  const trust = useMutation({
    mutationFn: () => answerOf(api.PUT("/api/v1/models/{model_id}/trust", { params: { path }, body: { reason } })),
    onSuccess: (updated) => {
      keep(updated);
      close();
    },
  });
  const command = `torch.onnx.export(model, (x,), "${model.name.replace(/\.[^.]*$/, "")}.onnx", dynamo=True)`;
  return (
    <Modal opened onClose={close} title={`Trust ${model.name}?`} size="lg">
      <Stack gap="md">
        <Text size="sm">
          Running this file runs its author's code as your user, inside the sandbox that every worker has. {model.trust.warning && `${model.trust.warning}.`}
        </Text>
        <div>
          <Text size="sm" fw={600}>
            What it would import
          </Text>
          {model.trust.imports.length === 0 ? (
            <Text size="sm" className="dim">
              Its pickles import nothing.
            </Text>
          ) : (
            <List size="sm" className="mono" style={{ maxHeight: 160, overflowY: "auto" }}>
              {model.trust.imports.map((name) => (
                <List.Item key={name}>{name}</List.Item>
              ))}
            </List>
          )}
        </div>
        <div>
          <Text size="sm" fw={600}>
            sha256 of exactly this file
          </Text>
          <Group gap={4} wrap="nowrap">
            <Text size="xs" className="mono" style={{ overflowWrap: "anywhere" }}>
              {model.sha256}
            </Text>
            {model.sha256 && <Copy text={model.sha256} label="Copy the checksum" />}
          </Group>
        </div>
        <div>
          <Text size="sm" fw={600}>
            The safe way: export it to ONNX where it was made
          </Text>
          <Group gap={4} wrap="nowrap">
            <Code style={{ overflowX: "auto" }} block flex={1} tabIndex={0}>{`import torch\n${command}`}</Code>
            <Copy text={`import torch\n${command}`} label="Copy the command" />
          </Group>
        </div>
        <Checkbox label="I made this file, or I trust its author" checked={isSure} onChange={(event) => setSure(event.currentTarget.checked)} />
        <TextInput
          label="Reason (saved with it)"
          placeholder="I exported it myself"
          value={reason}
          maxLength={1000}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        {trust.isError && <Trouble error={trust.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Don't trust
          </Button>
          <Button disabled={!isSure} loading={trust.isPending} onClick={() => trust.mutate()}>
            Trust this file
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
