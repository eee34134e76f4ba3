import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { api, Refused, answerOf } from "@/api/client";
import { engineTitle } from "@/api/engines";
import type { InferenceDocument } from "@/api/parts";
import type { ModelDetailsDocument } from "@/api/schema.gen";
import { decimals, fixedText } from "@/format/numbers";
import { Trouble } from "@/ui/Trouble";

/** Lets the model run once, to see whether it works at all. It is no measurement, and says so. */
export function TryInference({ model }: { model: ModelDetailsDocument }) {
  const leaving = useRef<AbortController | null>(null);
  // Leaving the page stops it.
  useEffect(() => () => leaving.current?.abort(), []);
  const attempt = useMutation({
    mutationFn: async () => {
      const controller = new AbortController();
      leaving.current = controller;
      const tried = await answerOf(
        api.POST("/api/v1/models/{model_id}/try", { params: { path: { model_id: model.id } }, body: {}, signal: controller.signal }),
      );
      if (tried.inference) return tried.inference;
      throw new Refused(200, tried.failure ?? { title: "The inference failed" });
    },
  });
  const isReady = model.state === "ready";
  return (
    <Stack gap="xs" align="flex-start">
      <Group gap="sm">
        <Button variant="light" leftSection={<IconPlayerPlay size={16} />} disabled={!isReady} loading={attempt.isPending} onClick={() => attempt.mutate()}>
          Try one inference
        </Button>
        {!isReady && (
          <Text size="sm" className="dim">
            {model.state === "untrusted"
              ? "It must be trusted first."
              : model.state === "incomplete"
                ? "Its weights must be uploaded first."
                : "It must be inspected first."}
          </Text>
        )}
        {attempt.data && <InferenceResult of={attempt.data} />}
      </Group>
      {attempt.data?.notes.map((note) => (
        <Text key={note} size="sm" className="dim">
          {note}
        </Text>
      ))}
      {attempt.isError && (attempt.error instanceof DOMException ? <Alert color="gray">Stopped.</Alert> : <Trouble error={attempt.error} />)}
    </Stack>
  );
}

function InferenceResult({ of }: { of: InferenceDocument }) {
  const ms = (value: number) => `${fixedText(value, decimals(value, 3))} ms`;
  const outputs = of.outputs.map((output) => `${output.name} ${output.dtype}${output.shape ? ` [${output.shape.join(", ")}]` : ""}`).join("; ");
  return (
    <Text size="sm" role="status">
      ✓ <strong>{ms(of.ms)}</strong> on {engineTitle(of.engine)} {of.engine_version} (one call, not a measurement; loading took {ms(of.load_ms)}) →{" "}
      <span className="mono">{outputs}</span>
    </Text>
  );
}
