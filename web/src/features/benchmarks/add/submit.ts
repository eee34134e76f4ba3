import { notifications } from "@mantine/notifications";

import { queries } from "@/api/cache";
import { api, answerOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { BenchmarkDetailsDocument, ModelSideRequest } from "@/api/schema.gen";
import { requestOf, turnsOf, type Effective, type Turn } from "@/features/benchmarks/add/form";
import { rememberEngine } from "@/features/benchmarks/add/useDraft";

export type Started = {
  first: BenchmarkDetailsDocument;
  /** What it is compared with. */
  other: number | null;
  /** How many pairs of cells are measured in alternation. */
  comparisons: number;
  /** All that was put into the queue for it. */
  jobs: number[];
};

/** Puts what the form says into the queue. A comparison is both sides by themselves, with the same
 *  cells, and then each cell of both in alternation: drift does not affect that judgement. */
export async function start(draft: Effective, pid: number): Promise<Started> {
  const { modelId } = draft;
  if (modelId === null) throw new Error("no model");
  const first = await answerOf(
    api.POST("/api/v1/benchmarks", {
      body: { ...requestOf(draft, modelId, draft.engine, draft.counts), project_id: pid, name: null, dataset_id: null, start: true },
    }),
  );
  rememberEngine(draft.engine);
  const jobs = jobOf(first);
  const other = draft.compares ? (draft.existing ?? (await startOther(draft, pid, modelId, jobs))) : null;
  void queries.invalidateQueries({ queryKey: queryKeys.benchmarks });
  void queries.invalidateQueries({ queryKey: queryKeys.jobs });
  const comparisons = draft.compares && draft.existing === null ? turnsOf(draft).length : 0;
  return { first, other, comparisons, jobs };
}

/** Adds to `jobs` what it puts into the queue. */
async function startOther(draft: Effective, pid: number, modelId: number, jobs: number[]): Promise<number> {
  const otherModel = draft.otherModelId ?? modelId;
  const request = { ...requestOf(draft, otherModel, draft.otherEngine, draft.otherCounts), project_id: pid, name: null, dataset_id: null, start: true };
  const other = await answerOf(api.POST("/api/v1/benchmarks", { body: request }));
  jobs.push(...jobOf(other));
  for (const turn of turnsOf(draft)) {
    const side = (model_id: number, engine: string, counts: Turn["a"]): ModelSideRequest => ({
      model_id,
      engine,
      ...counts,
      device: draft.device,
      precision: null,
      spinning: null,
      contract: "api",
      options: {},
      sandbox: "on",
      dims: turn.sizes,
      values: {},
      inputs: [],
    });
    const body = {
      project_id: pid,
      name: null,
      a: side(modelId, draft.engine, turn.a),
      b: side(otherModel, draft.otherEngine, turn.b),
      budget: draft.budget,
      margin: 0.02,
      pairs: null,
      adaptive: false,
      timeout_s: draft.timeoutS,
      memory_limit_bytes: null,
      seed: 0,
      start: true,
    };
    jobs.push(...jobOf(await answerOf(api.POST("/api/v1/comparisons", { body }))));
  }
  return other.id;
}

function jobOf(runnable: { latest_run: { job_id: number | null } | null }): number[] {
  return runnable.latest_run?.job_id == null ? [] : [runnable.latest_run.job_id];
}

/** Cancels everything that was just started, the last first, so that no waiting job begins. */
export function undoStart(started: Started): void {
  for (const job_id of [...started.jobs].reverse()) {
    void answerOf(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id } } })).catch(() =>
      notifications.show({ color: "red", message: `Job ${job_id} was not cancelled` }),
    );
  }
}
