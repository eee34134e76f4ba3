import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { benchmarkQuery, enginesQuery, modelsQuery, systemQuery } from "@/api/queries";
import type { EngineDocument } from "@/api/parts";
import type { ModelSummary } from "@/api/schema.gen";
import { draftOf, firstDraft, isDraft, type Draft } from "@/features/benchmarks/add/form";
import { isForPeople } from "@/format/words";

const LAST_ENGINE = "modeldyno.engine";
const keyOf = (pid: number) => `modeldyno.draft.${pid}`;

export type FormChoices = { engines: readonly EngineDocument[]; models: readonly ModelSummary[]; cores: number };

/** Cores that may be used: from the machine's own list of them. */
export function coresOf(host: Record<string, unknown> | undefined): number {
  const allowed = host?.cpus_allowed;
  return Array.isArray(allowed) && allowed.length > 0 ? allowed.length : 1;
}

/** What the form offers; null while it loads. */
export function useFormChoices(pid: number): { available: FormChoices | null; error: Error | null } {
  const engines = useQuery(enginesQuery);
  const models = useQuery(modelsQuery(pid));
  const system = useQuery(systemQuery);
  const error = engines.error ?? models.error ?? system.error;
  if (!engines.data || !models.data || !system.data) return { available: null, error };
  // It plays back scripts, for tests of the workbench itself.
  const hasScripts = models.data.items.some((model) => model.format === "scripted");
  const usable = engines.data.engines.filter((engine) => isForPeople(engine) || hasScripts);
  return { available: { engines: usable, models: models.data.items, cores: coresOf(system.data.host) }, error: null };
}

/** The draft: as it was left, filled in from a benchmark, or with the defaults. */
export function useDraft(
  pid: number,
  available: FormChoices,
  from: number | undefined,
): { draft: Draft | null; change: (change: Partial<Draft>) => void; reset: () => void } {
  const defaults = firstDraft(available.engines, available.models, available.cores, localStorage.getItem(LAST_ENGINE));
  const source = useQuery({ ...benchmarkQuery(from ?? 0), enabled: from !== undefined });
  const [edited, setEdited] = useState<Draft | null>(() => (from === undefined ? storedDraft(pid, available) : null));
  const draft = edited ?? (from === undefined ? defaults : source.data ? draftOf(source.data, defaults) : null);
  return {
    draft,
    change: (change) => {
      if (!draft) return;
      const next = { ...draft, ...change };
      setEdited(next);
      localStorage.setItem(keyOf(pid), JSON.stringify(next));
    },
    reset: () => {
      setEdited(null);
      forgetDraft(pid);
    },
  };
}

export function forgetDraft(pid: number): void {
  localStorage.removeItem(keyOf(pid));
}

export function rememberEngine(engine: string): void {
  localStorage.setItem(LAST_ENGINE, engine);
}

/** The stored draft, unless its model is gone. */
function storedDraft(pid: number, available: FormChoices): Draft | null {
  try {
    const draft: unknown = JSON.parse(localStorage.getItem(keyOf(pid)) ?? "null");
    return isDraft(draft) && available.models.some((model) => model.id === draft.modelId) ? draft : null;
  } catch {
    return null;
  }
}
