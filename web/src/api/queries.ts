import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { Refused, api, answerOf } from "@/api/client";
import { rememberEngines } from "@/api/engines";
import { queryKeys } from "@/api/queryKeys";
import type { PlanBenchmarkRequest } from "@/api/parts";
import type { operations } from "@/api/schema.gen";

type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;

/** A list in pages; the last one has no `next`. */
type ListPage = { next?: string | null };
const paging = { initialPageParam: undefined as string | undefined, getNextPageParam: (lastPage: ListPage) => lastPage.next ?? undefined };

const pathParams = <T>(path: T) => ({ params: { path } });

export const projectsQuery = (query: QueryOf<"list_projects"> = {}) =>
  infiniteQueryOptions({
    queryKey: [...queryKeys.projects, "list", query],
    queryFn: ({ pageParam }) => answerOf(api.GET("/api/v1/projects", { params: { query: { ...query, cursor: pageParam } } })),
    ...paging,
  });

export const projectQuery = (project_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.projects, project_id],
    queryFn: () => answerOf(api.GET("/api/v1/projects/{project_id}", pathParams({ project_id }))),
  });

export const modelsQuery = (project_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.models, "of", project_id],
    queryFn: () => answerOf(api.GET("/api/v1/projects/{project_id}/models", { params: { path: { project_id }, query: { limit: 200 } } })),
  });

export const modelQuery = (model_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.models, model_id],
    queryFn: () => answerOf(api.GET("/api/v1/models/{model_id}", pathParams({ model_id }))),
  });

/** What a model can be converted to, and the conversions so far. */
export const conversionsQuery = (model_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.models, model_id, "conversions"],
    queryFn: () => answerOf(api.GET("/api/v1/models/{model_id}/conversions", pathParams({ model_id }))),
  });

/** The whole graph of a model: to search, to look into nodes. */
export const graphQuery = (model_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.models, model_id, "graph"],
    queryFn: () => answerOf(api.GET("/api/v1/models/{model_id}/graph", pathParams({ model_id }))),
  });

/** The part of a graph to draw. */
export const graphViewQuery = (model_id: number, query: QueryOf<"view_graph">) =>
  queryOptions({
    queryKey: [...queryKeys.models, model_id, "graph", "view", query],
    queryFn: () => answerOf(api.GET("/api/v1/models/{model_id}/graph/view", { params: { path: { model_id }, query } })),
  });

export const benchmarksQuery = (query: QueryOf<"list_benchmarks">) =>
  infiniteQueryOptions({
    queryKey: [...queryKeys.benchmarks, "list", query],
    queryFn: ({ pageParam }) => answerOf(api.GET("/api/v1/benchmarks", { params: { query: { ...query, cursor: pageParam } } })),
    ...paging,
  });

export const benchmarkQuery = (benchmark_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.benchmarks, benchmark_id],
    queryFn: () => answerOf(api.GET("/api/v1/benchmarks/{benchmark_id}", pathParams({ benchmark_id }))),
  });

/** What a request would measure; null sends nothing. A refusal is not retried: it is shown beside a field. */
export const planQuery = (request: PlanBenchmarkRequest | null) =>
  queryOptions({
    queryKey: ["plan", request],
    queryFn: () => (request === null ? null : answerOf(api.POST("/api/v1/benchmarks/plan", { body: request }))),
    retry: false,
  });

export const comparisonsQuery = (query: QueryOf<"list_comparisons">) =>
  infiniteQueryOptions({
    queryKey: [...queryKeys.comparisons, "list", query],
    queryFn: ({ pageParam }) => answerOf(api.GET("/api/v1/comparisons", { params: { query: { ...query, cursor: pageParam } } })),
    ...paging,
  });

export const comparisonQuery = (comparison_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.comparisons, comparison_id],
    queryFn: () => answerOf(api.GET("/api/v1/comparisons/{comparison_id}", pathParams({ comparison_id }))),
  });

export const profilesQuery = (query: QueryOf<"list_profiles">) =>
  infiniteQueryOptions({
    queryKey: [...queryKeys.profiles, "list", query],
    queryFn: ({ pageParam }) => answerOf(api.GET("/api/v1/profiles", { params: { query: { ...query, cursor: pageParam } } })),
    ...paging,
  });

export const profileQuery = (profile_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.profiles, profile_id],
    queryFn: () => answerOf(api.GET("/api/v1/profiles/{profile_id}", pathParams({ profile_id }))),
  });

/** What changes from one profile (A) to another (B). */
export const profileDiffQuery = (profile_id: number, to: number, by: "node" | "op") =>
  queryOptions({
    queryKey: [...queryKeys.profiles, profile_id, "diff", to, by],
    queryFn: () => answerOf(api.GET("/api/v1/profiles/{profile_id}/diff", { params: { path: { profile_id }, query: { to, by } } })),
  });

/** Where the time of a run went; null of a run that is no profile. */
export const profileResultQuery = (run_id: string) =>
  queryOptions({
    queryKey: [...queryKeys.runs, run_id, "profile"],
    queryFn: async () => {
      const result = await answerOf(api.GET("/api/v1/runs/{run_id}/result", pathParams({ run_id })));
      return result.schema === "modeldyno.profile/2" ? result : null;
    },
  });

export const resultQuery = (run_id: string) =>
  queryOptions({
    queryKey: [...queryKeys.runs, run_id, "result"],
    queryFn: () => answerOf(api.GET("/api/v1/runs/{run_id}/result", pathParams({ run_id }))),
  });

/** How the samples of a cell are distributed, with this many points at most; null of a cell without samples. */
export const distributionQuery = (run_id: string, cell: number, most_points: number) =>
  queryOptions({
    queryKey: [...queryKeys.runs, run_id, "distribution", cell, most_points],
    queryFn: () =>
      answerOf(api.GET("/api/v1/runs/{run_id}/cells/{cell}/samples", { params: { path: { run_id, cell }, query: { most_points } } })).catch(noneIfMissing),
  });

function noneIfMissing(error: unknown): null {
  if (error instanceof Refused && error.status === 404) return null;
  throw error;
}

export const jobQuery = (job_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.jobs, job_id],
    queryFn: () => answerOf(api.GET("/api/v1/jobs/{job_id}", pathParams({ job_id }))),
  });

export const jobsQuery = (query: QueryOf<"list_jobs"> = {}) =>
  queryOptions({
    queryKey: [...queryKeys.jobs, "list", query],
    queryFn: () => answerOf(api.GET("/api/v1/jobs", { params: { query } })),
  });

/** Whether the queue is paused; everything else about it is in the lists of jobs. */
export const queueQuery = queryOptions({
  queryKey: [...queryKeys.jobs, "queue"],
  queryFn: () => answerOf(api.GET("/api/v1/queue")),
});

export const enginesQuery = queryOptions({
  queryKey: queryKeys.engines,
  queryFn: async () => {
    const document = await answerOf(api.GET("/api/v1/engines"));
    rememberEngines(document.engines);
    return document;
  },
});

export const systemQuery = queryOptions({
  queryKey: queryKeys.system,
  queryFn: () => answerOf(api.GET("/api/v1/system")),
  staleTime: 60_000,
});

export const examplesQuery = queryOptions({
  queryKey: queryKeys.examples,
  queryFn: () => answerOf(api.GET("/api/v1/examples")),
});

export const sessionQuery = queryOptions({
  queryKey: queryKeys.session,
  queryFn: () => answerOf(api.GET("/api/v1/session")),
});

/** Examines the machine for two seconds; only on request. */
export const doctorQuery = queryOptions({
  queryKey: queryKeys.doctor,
  queryFn: () => answerOf(api.POST("/api/v1/system/doctor")),
  enabled: false,
  retry: false,
});

export const judgementQuery = (a: string, b: string) =>
  queryOptions({
    queryKey: [...queryKeys.judgements, a, b],
    queryFn: () => answerOf(api.GET("/api/v1/judgements", { params: { query: { a, b } } })),
  });

/** The whole result of a run of a comparison. */
export const comparisonResultQuery = (run_id: string) =>
  queryOptions({
    queryKey: [...queryKeys.runs, run_id, "comparison"],
    queryFn: async () => {
      const result = await answerOf(api.GET("/api/v1/runs/{run_id}/result", pathParams({ run_id })));
      if (result.schema !== "modeldyno.comparison/2") throw new Error(`${run_id} is not a comparison`);
      return result;
    },
  });

export const filesQuery = (path: string) =>
  queryOptions({
    queryKey: [...queryKeys.files, path],
    queryFn: () => answerOf(api.GET("/api/v1/files", { params: { query: { path } } })),
    staleTime: 0, // there is no event when a file is put there
  });

export const standingQuery = (project_id: number) =>
  queryOptions({
    queryKey: [...queryKeys.projects, project_id, "standing"],
    queryFn: () => answerOf(api.GET("/api/v1/projects/{project_id}/standing", pathParams({ project_id }))),
  });
