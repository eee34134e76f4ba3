import { Button, Card, Group, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { api, answerOf } from "@/api/client";
import { modelsQuery, projectQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import type { ProjectDocument } from "@/api/schema.gen";
import { bytes, plural } from "@/format/numbers";
import { Ago } from "@/ui/Ago";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";

export function ProjectSettingsPage() {
  const { pid } = useParams({ from: "/p/$pid/settings" });
  const project = useQuery(projectQuery(pid));
  if (!project.data) return null; // the frame around it waits
  return (
    <Page title="Settings">
      <Name key={project.data.name} project={project.data} />
      <Facts project={project.data} />
      <Danger project={project.data} />
    </Page>
  );
}

function Name({ project }: { project: ProjectDocument }) {
  const [name, setName] = useState(project.name);
  const cache = useQueryClient();
  const rename = useMutation({
    mutationFn: () => answerOf(api.PATCH("/api/v1/projects/{project_id}", { params: { path: { project_id: project.id } }, body: { name } })),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: queryKeys.projects });
      notifications.show({ message: "Project renamed" });
    },
  });
  const isSame = name.trim() === project.name || !name.trim();
  return (
    <Card component="section" aria-label="Name">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isSame) rename.mutate();
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput label="Project name" value={name} maxLength={200} onChange={(event) => setName(event.currentTarget.value)} flex="1 1 240px" maw={520} />
          <Button type="submit" disabled={isSame} loading={rename.isPending}>
            Rename
          </Button>
        </Group>
      </form>
      {rename.isError && <Trouble error={rename.error} />}
    </Card>
  );
}

function Facts({ project }: { project: ProjectDocument }) {
  const models = useQuery(modelsQuery(project.id));
  const size = models.data?.items.reduce((sum, model) => sum + (model.size_bytes ?? 0), 0);
  const has = Object.entries(project.counts)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => plural(n, kind));
  return (
    <Card component="section" aria-label="About">
      <Title order={2} size="h4" mb="xs">
        About this project
      </Title>
      <Table variant="vertical" layout="auto">
        <Table.Tbody>
          <Row name="Created">
            <Ago at={project.created_at} />
          </Row>
          <Row name="Changed">{project.modified_at ? <Ago at={project.modified_at} /> : "–"}</Row>
          <Row name="Contains">{has.length ? has.join(", ") : "nothing yet"}</Row>
          <Row name="Size of its models">{bytes(size)}</Row>
          <Row name="Number">{project.id}</Row>
        </Table.Tbody>
      </Table>
    </Card>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={160}>{name}</Table.Th>
      <Table.Td>
        <Text size="sm" component="div">
          {children}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

function Danger({ project }: { project: ProjectDocument }) {
  const [typed, setTyped] = useState("");
  const cache = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => answerOf(api.DELETE("/api/v1/projects/{project_id}", { params: { path: { project_id: project.id }, query: { cascade: true } } })),
    onSuccess: async () => {
      await navigate({ to: "/" });
      void cache.invalidateQueries({ queryKey: queryKeys.projects });
      notifications.show({ message: `${project.name} is deleted` });
    },
  });
  return (
    <Card component="section" aria-label="Delete" style={{ borderColor: "var(--mantine-color-red-6)" }}>
      <Title order={2} size="h4">
        Delete this project
      </Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === project.name) remove.mutate();
        }}
      >
        <Stack gap="sm" mt="xs">
          <Text size="sm">Its models, results and notes are deleted with it. This cannot be undone. Cancel anything that is running first.</Text>
          <Group align="flex-end" gap="sm">
            <TextInput
              label={
                <>
                  Type <strong>{project.name}</strong> to confirm
                </>
              }
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
              flex="1 1 240px"
              maw={520}
            />
            <Button type="submit" color="red" disabled={typed !== project.name} loading={remove.isPending}>
              Delete project
            </Button>
          </Group>
          {remove.isError && <Trouble error={remove.error} />}
        </Stack>
      </form>
    </Card>
  );
}
