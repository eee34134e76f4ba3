import { Button, Card, Checkbox, Group, Skeleton, Stack, Text, TextInput, ThemeIcon, Title } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { api, answerOf } from "@/api/client";
import { modelQuery, projectQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import type { ModelDetailsDocument, ProjectDocument } from "@/api/schema.gen";
import { nameFor } from "@/features/home/chosenFiles";
import { ModelSource } from "@/features/home/ModelSource";
import { useModelImport } from "@/features/home/useModelImport";
import { MissingWeights } from "@/ui/MissingWeights";
import { ModelFacts } from "@/ui/ModelFacts";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";
import { TrustPanel } from "@/ui/TrustPanel";
import { TryInference } from "@/ui/TryInference";

/** Model, check, name; on one page; the address has the current step. */
export function NewProjectPage() {
  const { model: modelId, project: projectId } = useSearch({ from: "/new" });
  const navigate = useNavigate();
  const model = useQuery({ ...modelQuery(modelId ?? 0), enabled: modelId !== undefined });
  const project = useQuery({ ...projectQuery(projectId ?? 0), enabled: projectId !== undefined });
  const bring = useModelImport(
    (model) => void navigate({ to: "/new", search: { project: model.project_id, model: model.id } }),
    modelId === undefined ? (projectId ?? null) : null,
  );
  const isAdding = project.data !== undefined && !project.data.is_draft;
  const startAgain = () => void navigate({ to: "/new", search: isAdding ? { project: projectId } : {} });
  const error = model.error ?? project.error;
  return (
    <Page title={isAdding ? `Add a model to ${project.data.name}` : "New project"}>
      <Step number={1} title="Model" isDone={modelId !== undefined} done={model.data?.name}>
        {modelId === undefined ? <ModelSource bring={bring} /> : null}
      </Step>
      {error && (
        <Trouble error={error}>
          <Button size="xs" variant="default" onClick={startAgain}>
            Choose a model
          </Button>
        </Trouble>
      )}
      {modelId !== undefined && !error && (
        <>
          <Step number={2} title="Check" isDone={model.data?.state === "ready"}>
            {model.data ? <Check model={model.data} /> : <Skeleton height={220} />}
          </Step>
          {model.data && project.data ? (
            <Finish key={model.data.id} model={model.data} project={project.data} startAgain={startAgain} />
          ) : (
            <Skeleton height={90} />
          )}
        </>
      )}
      {modelId === undefined && (
        <>
          <Step number={2} title="Check" isDone={false}>
            <Text size="sm" className="dim">
              Its format, inputs and outputs, whether it may run, and one inference.
            </Text>
          </Step>
          <Step number={3} title={isAdding ? "Add" : "Name"} isDone={false}>
            <Text size="sm" className="dim">
              {isAdding ? "The model is added to the project." : "Name the project and create it."}
            </Text>
          </Step>
        </>
      )}
    </Page>
  );
}

function Step({ number, title, isDone, done, children }: { number: number; title: string; isDone: boolean; done?: string; children: ReactNode }) {
  return (
    <Card component="section" aria-label={`Step ${number}: ${title}`}>
      <Group gap="sm" mb={children ? "sm" : 0} wrap="nowrap">
        <ThemeIcon radius="xl" size={26} variant={isDone ? "filled" : "light"} aria-hidden>
          {isDone ? <IconCheck size={16} /> : <span>{number}</span>}
        </ThemeIcon>
        <Title order={2} size="h4">
          {title}
        </Title>
        {done && (
          <Text className="mono" size="sm" style={{ overflowWrap: "anywhere" }}>
            {done}
          </Text>
        )}
      </Group>
      {children}
    </Card>
  );
}

function Check({ model }: { model: ModelDetailsDocument }) {
  return (
    <Stack gap="md">
      <ModelFacts model={model} />
      <TrustPanel model={model} />
      <MissingWeights model={model} />
      <TryInference model={model} />
    </Stack>
  );
}

function Finish({ model, project, startAgain }: { model: ModelDetailsDocument; project: ProjectDocument; startAgain: () => void }) {
  const [name, setName] = useState(project.is_draft ? nameFor(model.name) : project.name);
  const [isMeasuring, setMeasuring] = useState(true);
  const cache = useQueryClient();
  const navigate = useNavigate();
  const isReady = model.state === "ready";
  const withBenchmark = isMeasuring && isReady;
  const project_id = project.id;
  const finish = useMutation({
    mutationFn: async () => {
      if (project.is_draft) {
        await answerOf(api.PATCH("/api/v1/projects/{project_id}", { params: { path: { project_id } }, body: { name } }));
      }
      if (withBenchmark) {
        await answerOf(api.POST("/api/v1/benchmarks", { body: { project_id, model_id: model.id } }));
      }
    },
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: queryKeys.projects });
      await navigate({ to: "/p/$pid", params: { pid: project_id } });
    },
  });
  const discard = useMutation({
    mutationFn: () =>
      project.is_draft
        ? answerOf(api.DELETE("/api/v1/projects/{project_id}", { params: { path: { project_id }, query: { cascade: true } } }))
        : answerOf(api.DELETE("/api/v1/models/{model_id}", { params: { path: { model_id: model.id } } })),
    onSuccess: startAgain,
  });
  return (
    <Step number={3} title={project.is_draft ? "Name" : "Add"} isDone={false}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) finish.mutate();
        }}
      >
        <Stack gap="sm">
          {project.is_draft && (
            <TextInput label="Project name" value={name} maxLength={200} maw={480} onChange={(event) => setName(event.currentTarget.value)} />
          )}
          <Checkbox
            label="also run a first benchmark"
            description={isReady ? "one core, one item at a time; about half a minute" : "available once the model may run: see the check above"}
            checked={withBenchmark}
            disabled={!isReady}
            onChange={(event) => setMeasuring(event.currentTarget.checked)}
          />
          <Group gap="sm">
            <Button type="submit" loading={finish.isPending} disabled={!name.trim()}>
              {project.is_draft ? "Create" : "Add to the project"}
            </Button>
            <Button variant="default" loading={discard.isPending} onClick={() => discard.mutate()}>
              Choose another model
            </Button>
          </Group>
          {finish.isError && <Trouble error={finish.error} />}
          {discard.isError && <Trouble error={discard.error} />}
        </Stack>
      </form>
    </Step>
  );
}
