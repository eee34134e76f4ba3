import { Alert, Button, Card, Group, SimpleGrid, Skeleton, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { IconDownload, IconPencil, IconSitemap } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { api, answerOf } from "@/api/client";
import { modelQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import type { ModelDetailsDocument } from "@/api/schema.gen";
import { ConvertModel } from "@/features/models/ConvertModel";
import { ModelMenu } from "@/features/models/ModelMenu";
import { ModelState } from "@/features/models/ModelState";
import { ORIGINS } from "@/features/models/sorting";
import { count } from "@/format/numbers";
import { Ago } from "@/ui/Ago";
import { MissingWeights } from "@/ui/MissingWeights";
import { ModelFacts } from "@/ui/ModelFacts";
import { NoteEditor } from "@/ui/NoteEditor";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";
import { TrustPanel } from "@/ui/TrustPanel";
import { TryInference } from "@/ui/TryInference";

export function ModelPage() {
  const { mid, pid } = useParams({ from: "/p/$pid/models/$mid" });
  const navigate = useNavigate();
  const query = useQuery(modelQuery(mid));
  const back = () => void navigate({ to: "/p/$pid/models", params: { pid } });
  if (query.isError)
    return (
      <Trouble error={query.error} retry={() => void query.refetch()}>
        <Button size="xs" variant="default" onClick={back}>
          All models
        </Button>
      </Trouble>
    );
  if (!query.data) return <Skeleton height={360} />;
  const model = query.data;
  return (
    <Page
      title={model.name}
      actions={
        <>
          <Button variant="default" leftSection={<IconSitemap size={16} />} component={Link} to={`/p/${pid}/models/${mid}/graph`}>
            Graph
          </Button>
          <Button variant="default" leftSection={<IconDownload size={16} />} component="a" href={`/api/v1/models/${mid}/file`} download>
            Download
          </Button>
          <ConvertModel model={model} />
          <ModelMenu model={model} onRemoved={back} />
        </>
      }
    >
      <Group gap="sm">
        <ModelState state={model.state} />
        <Text size="sm" className="dim">
          {ORIGINS[model.origin]} <Ago at={model.created_at} />
        </Text>
        <Rename key={model.name} model={model} />
      </Group>
      <TrustPanel model={model} />
      <MissingWeights model={model} />
      {model.state === "unread" && <Unread model={model} />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Section title="About this model">
          <ModelFacts model={model} />
        </Section>
        <Stack gap="md">
          <Section title="Try it">
            <TryInference model={model} />
          </Section>
          <Operators model={model} />
          <Section title="Note">
            <NoteEditor kind="model" id={model.id} rows={4} invitation="Nothing written about this model yet." />
          </Section>
        </Stack>
      </SimpleGrid>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card component="section" aria-label={title}>
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {children}
    </Card>
  );
}

function Operators({ model }: { model: ModelDetailsDocument }) {
  const rows = Object.entries(model.facts?.nodes_by_op ?? {}).sort((a, b) => b[1] - a[1]);
  if (rows.length === 0) return null;
  return (
    <Section title="Operators">
      <Table aria-label="Operators" verticalSpacing={4}>
        <Table.Tbody>
          {rows.slice(0, 12).map(([name, n]) => (
            <Table.Tr key={name}>
              <Table.Td className="mono">{name}</Table.Td>
              <Table.Td ta="right">{count(n)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {rows.length > 12 && (
        <Text size="sm" className="dim">
          and {rows.length - 12} more kinds
        </Text>
      )}
    </Section>
  );
}

function Unread({ model }: { model: ModelDetailsDocument }) {
  const cache = useQueryClient();
  const look = useMutation({
    mutationFn: () => answerOf(api.POST("/api/v1/models/{model_id}/inspect", { params: { path: { model_id: model.id } } })),
    onSuccess: (updated) => cache.setQueryData(modelQuery(model.id).queryKey, updated),
  });
  return (
    <Alert color="gray" title="This file has not been inspected yet">
      <Button size="xs" loading={look.isPending} onClick={() => look.mutate()}>
        Inspect it
      </Button>
      {look.isError && <Trouble error={look.error} />}
    </Alert>
  );
}

function Rename({ model }: { model: ModelDetailsDocument }) {
  const [name, setName] = useState<string | null>(null);
  const cache = useQueryClient();
  const rename = useMutation({
    mutationFn: (newName: string) => answerOf(api.PATCH("/api/v1/models/{model_id}", { params: { path: { model_id: model.id } }, body: { name: newName } })),
    onSuccess: (updated) => {
      cache.setQueryData(modelQuery(model.id).queryKey, updated);
      void cache.invalidateQueries({ queryKey: queryKeys.models });
    },
  });
  if (name === null)
    return (
      <Button size="compact-xs" variant="subtle" leftSection={<IconPencil size={12} />} onClick={() => setName(model.name)}>
        Rename
      </Button>
    );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim()) rename.mutate(name);
      }}
    >
      <Group gap="xs">
        <TextInput
          size="xs"
          aria-label="New name"
          value={name}
          maxLength={200}
          autoFocus // eslint-disable-line jsx-a11y/no-autofocus -- it takes the place of the button that had the focus
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button size="xs" type="submit" loading={rename.isPending}>
          Save
        </Button>
        <Button size="xs" variant="default" onClick={() => setName(null)}>
          Cancel
        </Button>
      </Group>
      {rename.isError && <Trouble error={rename.error} />}
    </form>
  );
}
