import {
  Alert,
  Button,
  Checkbox,
  Collapse,
  Group,
  Modal,
  NumberInput,
  SegmentedControl,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Tooltip,
  UnstyledButton,
} from "@mantine/core";
import { useDebouncedValue, useHotkeys } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { NAMED_COUNTS, SIZE_AXES, countWords, type CountAxis } from "@/api/axes";
import { engineTitle } from "@/api/engines";
import { benchmarksQuery, modelQuery, planQuery } from "@/api/queries";
import type { EngineDocument } from "@/api/parts";
import type { PlanDocument } from "@/api/schema.gen";
import { CountsField } from "@/features/benchmarks/add/CountsField";
import { PlanLine, type PlanWords } from "@/features/benchmarks/add/PlanLine";
import { SizesField } from "@/features/benchmarks/add/SizesField";
import {
  requestOf,
  compareCommands,
  coresNote,
  effectiveOf,
  engineTrouble,
  fieldOf,
  fixedBatch,
  hasCapability,
  inputModel,
  isFilled,
  modelTrouble,
  openDimensions,
  planWords,
  queuedWords,
  turnsOf,
  type Draft,
  type Effective,
  type Troubles,
} from "@/features/benchmarks/add/form";
import { start, undoStart, type Started } from "@/features/benchmarks/add/submit";
import { forgetDraft, useDraft, useFormChoices, type FormChoices } from "@/features/benchmarks/add/useDraft";
import { duration } from "@/format/numbers";
import { ReasonedSelect } from "@/ui/ReasonedSelect";
import { Trouble, errorText } from "@/ui/Trouble";

type Props = { pid: number; from: number | undefined; close: () => void; onStarted: (started: Started) => void };

/** "Create benchmark": everything filled in; RUN is the second click. */
export function AddBenchmark({ pid, from, close, onStarted }: Props) {
  const { available, error } = useFormChoices(pid);
  return (
    <Modal opened onClose={close} title="Create benchmark" size="xl">
      {error ? (
        <Trouble error={error} />
      ) : available ? (
        <Form pid={pid} from={from} available={available} close={close} onStarted={onStarted} />
      ) : (
        <Skeleton height={360} />
      )}
    </Modal>
  );
}

const LONG_S = 600;
const BUDGET_S: Record<Draft["budget"], number> = { quick: 2, default: 10, thorough: 60 };

function Form({ pid, from, available, close, onStarted }: Props & { available: FormChoices }) {
  const { draft, change, reset } = useDraft(pid, available, from);
  const [isMore, setMore] = useState(false);
  const [isSure, setSure] = useState(false);
  const model = available.models.find((model) => model.id === draft?.modelId);
  const facts = useQuery({ ...modelQuery(draft?.modelId ?? 0), enabled: draft?.modelId != null }).data?.facts;
  const fixed = facts ? fixedBatch(facts.inputs.map((input) => input.shape ?? [])) : null;
  const dimensions = facts ? openDimensions(facts.inputs) : null;
  const effective = draft && effectiveOf(draft, fixed, available.engines, dimensions);
  const names = { a: model?.name ?? "MODEL", b: available.models.find((model) => model.id === (draft?.otherModelId ?? draft?.modelId))?.name ?? "MODEL" };
  const plan = usePlan(effective, names);
  const run = useMutation({
    mutationFn: (effective: Effective) => start(effective, pid),
    onSuccess: (started) => {
      forgetDraft(pid);
      const id = `started ${started.first.id}`;
      notifications.show({
        id,
        message: (
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm">{queuedWords(started.first.id, started.comparisons, started.comparisons > 0)}</Text>
            <Button
              size="xs"
              variant="light"
              onClick={() => {
                undoStart(started);
                notifications.hide(id);
              }}
            >
              Undo
            </Button>
          </Group>
        ),
      });
      onStarted(started);
    },
  });
  if (available.models.length === 0) return <Text>This project has no model yet. Add one on the Models page to measure it.</Text>;
  if (!draft || !effective) return <Skeleton height={360} />;
  const refusal = run.error ?? plan.error;
  const { troubles, rest } = troublesOf(refusal);
  const engine = available.engines.find((engine) => engine.name === draft.engine);
  const other = draft.compares && draft.existing === null ? available.engines.find((engine) => engine.name === draft.otherEngine) : engine;
  const offered = NAMED_COUNTS.filter((axis) => hasCapability(engine, axis) || hasCapability(other, axis));
  const front = offered.filter((axis) => axis.place === "front");
  const notes = offered.flatMap((axis) => coresNote(axis, draft) ?? []);
  const fieldOfCounts = (axis: CountAxis) => (
    <CountsOf
      key={axis.field}
      axis={axis}
      available={available}
      draft={draft}
      effective={effective}
      change={change}
      trouble={troubles[axis.field]}
      fixed={fixed}
      model={model?.name}
    />
  );
  const isValid = plan.words !== null && plan.error === null && isFilled(effective);
  const isLong = (plan.words?.aboutS ?? 0) > LONG_S;
  const submit = () => {
    if (!isValid || run.isPending) return;
    if (isLong && !isSure) setSure(true);
    else run.mutate(effective);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <RunKey run={submit} />
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <EngineSelect
            label="Inference engine"
            available={available}
            modelId={draft.modelId}
            value={draft.engine}
            change={(name) => change({ engine: name })}
            error={troubles.engine}
          />
          <ModelSelect
            available={available}
            engine={draft.engine}
            value={draft.modelId}
            change={(modelId) => change({ modelId, engine: engineFor(available, modelId, draft.engine) })}
            error={troubles.model}
          />
        </SimpleGrid>
        <Comparison pid={pid} available={available} draft={draft} change={change} />
        <SimpleGrid cols={{ base: 1, xs: Math.min(3, front.length) }}>{front.map(fieldOfCounts)}</SimpleGrid>
        {dimensions !== null &&
          dimensions.length > 0 &&
          SIZE_AXES.map((axis) => <SizesOf key={axis.field} axis={axis} dimensions={dimensions} draft={draft} change={change} trouble={troubles.sizes} />)}
        {notes.map((note) => (
          <Text key={note} size="sm" role="note">
            ⚠ {note}
          </Text>
        ))}
        <UnstyledButton onClick={() => setMore(!isMore)} aria-expanded={isMore} fz="sm">
          {isMore ? "▾" : "▸"} More: {draft.budget} budget, up to {BUDGET_S[draft.budget]} s per cell · {furtherCounts(draft, offered)} · {draft.device}
        </UnstyledButton>
        <Collapse expanded={isMore}>
          <More
            draft={draft}
            change={change}
            engine={engine}
            troubles={troubles}
            further={offered.filter((axis) => axis.place === "more").map(fieldOfCounts)}
          />
        </Collapse>
        {rest && <Trouble error={refusal} />}
        {draft.compares && draft.existing === null && plan.words && (
          <Text size="xs" className="dim">
            Each side is measured separately, then each cell of both in alternation (A B A B), so that drift affects both sides equally.
          </Text>
        )}
        {draft.compares && draft.existing === null && draft.budget === "quick" && (
          <Text size="sm" role="note">
            ⚠ Quick rarely has enough sessions for a verdict; Default does.
          </Text>
        )}
        <PlanLine plan={plan.words} isStale={plan.isStale} />
        {isSure && isLong && (
          <Alert color="orange" variant="light" title={`This takes about ${duration(plan.words?.aboutS)}`} role="alert">
            Press RUN again to start it anyway, or choose fewer cells or a shorter budget.
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="subtle" color="gray" size="compact-sm" onClick={reset} mr="auto">
            Start over
          </Button>
          <Button variant="default" onClick={close}>
            CANCEL
          </Button>
          <Tooltip label="Ctrl+Enter">
            <Button type="submit" disabled={!isValid} loading={run.isPending}>
              RUN
            </Button>
          </Tooltip>
        </Group>
      </Stack>
    </form>
  );
}

/** Ctrl+Enter runs, also from inside a field. */
function RunKey({ run }: { run: () => void }) {
  useHotkeys([["mod+Enter", run]], []);
  return null;
}

function troublesOf(refusal: Error | null): { troubles: Troubles; rest: boolean } {
  if (!refusal) return { troubles: {}, rest: false };
  const { title, why } = errorText(refusal);
  const field = fieldOf(title, why);
  return field === null ? { troubles: {}, rest: true } : { troubles: { [field]: [title, why].filter(Boolean).join(": ") }, rest: false };
}

function usePlan(draft: Effective | null, names: { a: string; b: string }): { words: PlanWords | null; error: Error | null; isStale: boolean } {
  const request = draft && draft.modelId !== null && isFilled(draft) ? requestOf(draft, draft.modelId, draft.engine, draft.counts) : null;
  const twinRequest =
    draft?.compares && draft.existing === null && request
      ? requestOf(draft, draft.otherModelId ?? request.model_id, draft.otherEngine, draft.otherCounts)
      : null;
  const [settledRequest] = useDebouncedValue(request, 200);
  const [settledTwinRequest] = useDebouncedValue(twinRequest, 200);
  const plan = useQuery(planQuery(settledRequest));
  const other = useQuery(planQuery(settledTwinRequest));
  const isStale = JSON.stringify(settledRequest) !== JSON.stringify(request) || plan.isFetching;
  const error = plan.error ?? other.error;
  if (!draft || !plan.data || (twinRequest && !other.data)) return { words: null, error, isStale };
  return { words: wordsOf(draft, names, plan.data, twinRequest ? (other.data ?? null) : null), error, isStale };
}

function wordsOf(draft: Effective, names: { a: string; b: string }, plan: PlanDocument, other: PlanDocument | null): PlanWords {
  const alternations = other ? turnsOf(draft).length * 2 * BUDGET_S[draft.budget] : 0;
  const aboutS = plan.about_s === null ? null : plan.about_s + (other?.about_s ?? 0) + alternations;
  return {
    cells: planWords(draft, plan.cells.length + (other?.cells.length ?? 0)),
    aboutS,
    isMost: draft.budget !== "quick",
    cores: Math.max(plan.cores, other?.cores ?? 0),
    threads: Math.max(plan.threads, other?.threads ?? 0),
    commands: [plan.command, ...(other ? [other.command, ...compareCommands(draft, names.a, names.b)] : [])],
    note:
      other && draft.engine === draft.otherEngine && draft.modelId === draft.otherModelId
        ? "Both sides are the same: the result shows how repeatable measurements on this machine are."
        : null,
  };
}

/** The engine that stays, or the first that reads the model. */
function engineFor(available: FormChoices, modelId: number, engine: string): string {
  const model = available.models.find((model) => model.id === modelId);
  const able = available.engines.filter((engine) => engineTrouble(engine, model) === null);
  return (able.find((candidate) => candidate.name === engine) ?? able[0])?.name ?? engine;
}

type EngineProps = { label: string; available: FormChoices; modelId: number | null; value: string; change: (engine: string) => void; error?: string };

function EngineSelect({ label, available, modelId, value, change, error }: EngineProps) {
  const model = available.models.find((model) => model.id === modelId);
  const options = available.engines.map((engine) => ({
    value: engine.name,
    label: `${engine.title} ${engine.version ?? ""}`.trim(),
    reason: engineTrouble(engine, model),
  }));
  return <ReasonedSelect label={label} description="The engine that runs the model" value={value} options={options} change={change} error={error} />;
}

type ModelProps = { available: FormChoices; engine: string; value: number | null; change: (modelId: number) => void; error?: string };

function ModelSelect({ available, engine, value, change, error }: ModelProps) {
  const input = inputModel(available.models);
  const options = available.models.map((model) => {
    // Another engine may read it: then the engine follows the model, and only what nobody reads is refused.
    const isRead = available.engines.some((engine) => engineTrouble(engine, model) === null);
    return {
      value: String(model.id),
      label: model === input ? `None (input model) ${model.name}` : model.name,
      reason: modelTrouble(model, isRead ? undefined : available.engines.find((candidate) => candidate.name === engine)),
    };
  });
  return (
    <ReasonedSelect
      label="Optimization version"
      description="The model itself, or an optimized version of it"
      value={value === null ? null : String(value)}
      options={options}
      change={(chosen) => change(Number(chosen))}
      error={error}
    />
  );
}

type PartProps = { draft: Draft; change: (change: Partial<Draft>) => void };

function Comparison({ pid, available, draft, change }: PartProps & { pid: number; available: FormChoices }) {
  const done = useInfiniteQuery({ ...benchmarksQuery({ project_id: pid, state: "done", limit: 100 }), enabled: draft.compares });
  const rows = done.data?.pages.flatMap((page) => page.items) ?? [];
  const existing = [
    { value: "0", label: "none: measure it now", reason: null },
    ...rows.map((row) => ({ value: String(row.id), label: `#${row.id} ${row.name} · ${row.axes.engines.map(engineTitle).join(", ")}`, reason: null })),
  ];
  return (
    <Stack gap="xs">
      <Checkbox label="Enable comparison" checked={draft.compares} onChange={(event) => change({ compares: event.currentTarget.checked })} />
      {draft.compares && (
        <>
          {draft.existing === null && (
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <EngineSelect
                label="Comparing to"
                available={available}
                modelId={draft.otherModelId}
                value={draft.otherEngine}
                change={(otherEngine) => change({ otherEngine })}
              />
              <ModelSelect
                available={available}
                engine={draft.otherEngine}
                value={draft.otherModelId}
                change={(otherModelId) => change({ otherModelId, otherEngine: engineFor(available, otherModelId, draft.otherEngine) })}
              />
            </SimpleGrid>
          )}
          <ReasonedSelect
            label="or an existing benchmark"
            value={String(draft.existing ?? 0)}
            options={existing}
            change={(value) => change({ existing: value === "0" ? null : Number(value) })}
            description={draft.existing === null ? undefined : "It is not measured again; differences in machine and settings are listed beside the verdict"}
          />
        </>
      )}
    </Stack>
  );
}

const SMALL = 64;
type CountsProps = PartProps & {
  axis: CountAxis;
  available: FormChoices;
  effective: Effective;
  trouble: string | undefined;
  fixed: number | null;
  model: string | undefined;
};

/** The field of an axis. Cores are those of this machine, and the batch may be the model's own. */
function CountsOf({ axis, available, draft, effective, change, trouble, fixed, model }: CountsProps) {
  const { field } = axis;
  const isCores = field === "cores";
  const isBatch = field === "batch_sizes";
  const current = isBatch ? effective : draft;
  return (
    <CountsField
      label={axis.title}
      what={axis.title.toLowerCase()}
      most={isCores ? available.cores : axis.most}
      presets={isCores || axis.needs_core_each ? available.cores : SMALL}
      counts={current.counts[field]}
      isMany={current.many[field]}
      change={(counts, isMany) => change({ counts: { ...draft.counts, [field]: counts }, many: { ...draft.many, [field]: isMany } })}
      hint={isCores ? `At most ${available.cores}` : axis.hint}
      trouble={trouble}
      fixed={isBatch && fixed !== null ? `${model ?? "The model"} accepts only batches of ${fixed}, as its file says` : undefined}
    />
  );
}

type SizesProps = PartProps & { axis: (typeof SIZE_AXES)[number]; dimensions: readonly string[]; trouble: string | undefined };

/** A field for each dimension that the model leaves open. */
function SizesOf({ axis, dimensions, draft, change, trouble }: SizesProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: Math.min(3, dimensions.length) }}>
      {dimensions.map((name) => (
        <SizesField
          key={name}
          label={`Sizes of ${name}`}
          most={axis.most}
          hint={axis.hint}
          trouble={trouble}
          sizes={draft.sizes[name] ?? []}
          change={(sizes) => change({ sizes: { ...draft.sizes, [name]: sizes } })}
        />
      ))}
    </SimpleGrid>
  );
}

/** "2 instances": of what is not in sight, what is there in any case and what was chosen. */
function furtherCounts({ counts }: Draft, offered: readonly CountAxis[]): string {
  const listed = offered.filter(({ field, place, usual }) => place === "single" || (place === "more" && counts[field].some((count) => count !== usual)));
  return listed.map((axis) => counts[axis.field].map((count) => countWords(axis, count)).join(", ")).join(" · ");
}

type MoreProps = PartProps & { engine: EngineDocument | undefined; troubles: Troubles; further: ReactNode[] };

function More({ draft, change, engine, troubles, further }: MoreProps) {
  const devices = [
    ...(engine?.devices ?? ["cpu"]).map((device) => ({ value: device, label: device, reason: null })),
    ...Object.entries(engine?.unavailable_devices ?? {}).map(([device, reason]) => ({ value: device, label: device, reason })),
  ];
  return (
    <Stack gap="sm">
      <Stack gap={4}>
        <Text size="sm" fw={500} id="budget-label">
          Budget
        </Text>
        <SegmentedControl
          aria-labelledby="budget-label"
          value={draft.budget}
          onChange={(value) => change({ budget: value === "quick" || value === "thorough" ? value : "default" })}
          data={[
            { value: "quick", label: "Quick, 2 s" },
            { value: "default", label: "Default, 10 s" },
            { value: "thorough", label: "Thorough, 60 s" },
          ]}
        />
      </Stack>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        {NAMED_COUNTS.filter(({ place }) => place === "single").map(({ field, title, hint, most, usual }) => (
          <NumberInput
            key={field}
            label={title}
            description={hint}
            min={1}
            max={most}
            allowDecimal={false}
            value={draft.counts[field][0]}
            error={troubles[field]}
            onChange={(value) => change({ counts: { ...draft.counts, [field]: [wholeOr(value, 1) ?? usual] } })}
          />
        ))}
        <ReasonedSelect
          label="Device"
          description="Where the model runs"
          value={draft.device}
          options={devices}
          change={(device) => change({ device })}
          error={troubles.device}
        />
        <NumberInput
          label="Timeout"
          description="Seconds after which a cell fails"
          min={1}
          max={7200}
          value={draft.timeoutS}
          error={troubles.budget}
          onChange={(value) => change({ timeoutS: wholeOr(value, 1) ?? 600 })}
        />
        <NumberInput
          label="Iterations"
          description="Empty: measure until precise"
          min={1}
          max={1_000_000}
          allowDecimal={false}
          value={draft.iterations ?? ""}
          onChange={(value) => change({ iterations: wholeOr(value, 1) })}
        />
        <NumberInput
          label="Warm-up"
          description="Calls; empty: until the latency settles"
          min={0}
          max={1_000_000}
          allowDecimal={false}
          value={draft.warmup ?? ""}
          onChange={(value) => change({ warmup: wholeOr(value, 0) })}
        />
      </SimpleGrid>
      {further.length > 0 && <SimpleGrid cols={{ base: 1, xs: 3 }}>{further}</SimpleGrid>}
      <Checkbox
        label="Time each call separately (for tail latencies)"
        checked={draft.perCall}
        onChange={(event) => change({ perCall: event.currentTarget.checked })}
      />
    </Stack>
  );
}

function wholeOr(value: string | number, least: number): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= least ? value : null;
}
