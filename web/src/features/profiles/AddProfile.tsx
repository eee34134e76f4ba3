import { Button, Group, Modal, NumberInput, Skeleton, Stack, Text } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { queries } from "@/api/cache";
import { api, answerOf } from "@/api/client";
import { enginesQuery, modelsQuery, systemQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import type { EngineDocument } from "@/api/parts";
import type { ModelSummary, ProfileDetailsDocument } from "@/api/schema.gen";
import { formatName, isForPeople } from "@/format/words";
import { ReasonedSelect, type Reasoned } from "@/ui/ReasonedSelect";
import { Trouble } from "@/ui/Trouble";

type Props = { pid: number; close: () => void; added: (profile: ProfileDetailsDocument) => void };

/** Everything filled in: RUN is the second click. */
export function AddProfile({ pid, close, added }: Props) {
  const models = useQuery(modelsQuery(pid));
  const engines = useQuery(enginesQuery);
  const system = useQuery(systemQuery);
  const error = models.error ?? engines.error;
  return (
    <Modal opened onClose={close} title="Add profile" size="lg">
      {error ? (
        <Trouble error={error} />
      ) : models.data && engines.data && !system.isPending ? (
        <Form
          pid={pid}
          models={models.data.items}
          engines={engines.data.engines.filter((engine) => isForPeople(engine) || models.data.items.some((model) => model.format === "scripted"))}
          cores={coresOf(system.data?.host)}
          close={close}
          added={added}
        />
      ) : (
        <Skeleton height={280} />
      )}
    </Modal>
  );
}

function Form({ pid, models, engines, cores: most, close, added }: Props & { models: ModelSummary[]; engines: EngineDocument[]; cores: number }) {
  const [modelId, setModel] = useState<number | null>((models.find((model) => model.state === "ready") ?? models[0])?.id ?? null);
  const [engine, setEngine] = useState("");
  const [cores, setCores] = useState<string | number>(most);
  const [batch, setBatch] = useState<string | number>(1);
  const [repeats, setRepeats] = useState<string | number>(5);
  const model = models.find((model) => model.id === modelId);
  const run = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST("/api/v1/profiles", {
          body: {
            project_id: pid,
            model_id: modelId ?? 0,
            engine: engine === "" ? null : engine,
            cores: Number(cores),
            batch_size: Number(batch),
            repeats: Number(repeats),
            start: true,
            device: "cpu",
            contract: "hot",
            options: {},
            sandbox: "on",
            dims: {},
            values: {},
            inputs: [],
            timeout_s: 600,
            seed: 0,
          },
        }),
      ),
    onSuccess: (profile) => {
      void queries.invalidateQueries({ queryKey: queryKeys.profiles });
      added(profile);
    },
  });
  const isWhole = [cores, batch, repeats].every((value) => Number.isInteger(Number(value)) && Number(value) >= 1);
  const canRun = modelId !== null && isWhole && !run.isPending;
  useHotkeys([["mod+Enter", () => canRun && run.mutate()]], []);
  if (models.length === 0) return <Text>This project has no model yet. Add one on the Models page to profile it.</Text>;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canRun) run.mutate();
      }}
    >
      <Stack>
        <ReasonedSelect
          label="Model"
          value={modelId === null ? null : String(modelId)}
          options={models.map(modelOption)}
          change={(id) => setModel(Number(id))}
        />
        <ReasonedSelect
          label="Inference engine"
          value={engine}
          options={[{ value: "", label: "The first one that can read the model", reason: null }, ...engines.map((engine) => engineOption(engine, model))]}
          change={setEngine}
        />
        <Group grow align="flex-start">
          <NumberInput label="Cores" min={1} max={most} value={cores} onChange={setCores} allowDecimal={false} error={wholeTrouble(cores)} />
          <NumberInput label="Batch size" min={1} value={batch} onChange={setBatch} allowDecimal={false} error={wholeTrouble(batch)} />
          <NumberInput label="Repeats" min={1} max={50} value={repeats} onChange={setRepeats} allowDecimal={false} error={wholeTrouble(repeats)} />
        </Group>
        <Text size="sm" className="dim">
          Each repeat is a fresh session, measured with and without the engine's profiler, so that the profiler's own cost can be subtracted. Four or more
          repeats give intervals.
        </Text>
        {run.error && <Trouble error={run.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            CANCEL
          </Button>
          <Button type="submit" disabled={!canRun} loading={run.isPending}>
            RUN
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function coresOf(host: Record<string, unknown> | undefined): number {
  return Array.isArray(host?.cpus_allowed) ? Math.max(1, host.cpus_allowed.length) : 1;
}

const wholeTrouble = (value: string | number): string | undefined =>
  Number.isInteger(Number(value)) && Number(value) >= 1 ? undefined : "A whole number, at least 1";

function modelOption(model: ModelSummary): Reasoned {
  const reason =
    model.state === "ready"
      ? null
      : model.state === "untrusted"
        ? "It can run code and is not trusted yet: see its page"
        : "It cannot be run yet: see its page";
  return { value: String(model.id), label: model.name, reason };
}

function engineOption(engine: EngineDocument, model: ModelSummary | undefined): Reasoned {
  const base = { value: engine.name, label: engine.title };
  if (!engine.usable) return { ...base, reason: `${engine.why_not ?? "It cannot be used here"}. To get it: ${engine.install}` };
  if (model?.format && !engine.formats.includes(model.format)) return { ...base, reason: `It does not read ${formatName(model.format)} files` };
  return { ...base, reason: null };
}
