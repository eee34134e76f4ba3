import { Anchor, Button, Group, Modal, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { IconTransform } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { api, Refused, answerOf } from "@/api/client";
import { conversionsQuery } from "@/api/queries";
import type { Possibility } from "@/api/parts";
import type { ConversionJobDocument, ModelDetailsDocument } from "@/api/schema.gen";
import { largestError } from "@/features/models/checks";
import { Trouble } from "@/ui/Trouble";

/** The same network in another format, converted by the server and checked against this model. */
export function ConvertModel({ model }: { model: ModelDetailsDocument }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<IconTransform size={16} />} disabled={model.state === "unread"} onClick={() => setOpen(true)}>
        Convert
      </Button>
      {isOpen && (
        <Modal opened onClose={() => setOpen(false)} title={`Convert ${model.name}`} size="lg">
          <Formats model={model} />
        </Modal>
      )}
    </>
  );
}

function Formats({ model }: { model: ModelDetailsDocument }) {
  const query = useQuery(conversionsQuery(model.id));
  if (query.isError) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton height={180} />;
  const { possible, conversions } = query.data;
  return (
    <Stack gap="md">
      <Text size="sm">Both models are run on the same inputs. The result is kept only if its outputs agree.</Text>
      <Stack gap="md" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {possible.map((possibility) => (
          <Format
            key={possibility.to}
            model={model}
            possible={possibility}
            latest={conversions.filter((conversion) => conversion.to === possibility.to).at(-1)}
          />
        ))}
      </Stack>
    </Stack>
  );
}

function Format({ model, possible, latest }: { model: ModelDetailsDocument; possible: Possibility; latest?: ConversionJobDocument }) {
  const cache = useQueryClient();
  const refetchConversions = () => cache.invalidateQueries({ queryKey: conversionsQuery(model.id).queryKey });
  const start = useMutation({
    mutationFn: () => answerOf(api.POST("/api/v1/models/{model_id}/conversions", { params: { path: { model_id: model.id } }, body: { to: possible.to } })),
    onSuccess: refetchConversions,
  });
  const isRunning = latest?.state === "converting";
  return (
    <Stack component="li" gap={6} aria-label={possible.title}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={0}>
          <Text fw={600}>{possible.title}</Text>
          {possible.why_not && (
            <Text size="sm" className="dim">
              {[capital(possible.why_not), possible.fix].filter(Boolean).join(". ")}.
            </Text>
          )}
        </Stack>
        {!possible.why_not && !isRunning && (
          <Button size="xs" loading={start.isPending} onClick={() => start.mutate()} aria-label={`Convert to ${possible.title}`}>
            Convert
          </Button>
        )}
      </Group>
      {start.isError && <Trouble error={start.error} />}
      {latest && <Standing of={latest} title={possible.title} />}
    </Stack>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function Standing({ of, title }: { of: ConversionJobDocument; title: string }) {
  const cancel = useMutation({
    mutationFn: () => answerOf(api.POST("/api/v1/conversions/{conversion_id}/cancel", { params: { path: { conversion_id: of.id } } })),
  });
  switch (of.state) {
    case "converting":
      return (
        <Group gap="sm" wrap="nowrap">
          <Stack gap={4} style={{ flex: 1, minWidth: 0 }}>
            <Progress value={of.steps_planned ? (100 * of.steps_done) / of.steps_planned : 0} aria-label={`Converting to ${title}`} />
            <Text size="sm" className="dim" role="status">
              {of.doing || "waiting"} …
            </Text>
          </Stack>
          <Button size="xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        </Group>
      );
    case "done":
      return (
        <Stack gap={2}>
          <Text size="sm" role="status">
            ✓{" "}
            <Anchor component={Link} to={`/p/${of.project_id}/models/${of.made_id}`}>
              Open the new model
            </Anchor>
            : {largestError(of.checks)}
          </Text>
          {of.notes.map((note) => (
            <Text key={note} size="sm" className="dim">
              {note}
            </Text>
          ))}
        </Stack>
      );
    case "cancelled":
      return (
        <Text size="sm" className="dim" role="status">
          Cancelled: nothing was kept.
        </Text>
      );
    case "failed":
      return <Trouble error={new Refused(200, of.failure ?? { title: "The conversion failed" })} />;
  }
}
