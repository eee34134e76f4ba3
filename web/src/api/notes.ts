import { queryOptions } from "@tanstack/react-query";

import { api, told } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { NoteDocument } from "@/api/schema.gen";

export type NoteSubject = { kind: "project" | "model" | "dataset" | "benchmark" | "comparison" | "optimization" | "profile"; id: number };

export const noteQuery = ({ kind, id }: NoteSubject) =>
  queryOptions({ queryKey: [...queryKeys.notes, kind, id], queryFn: () => readNote({ kind, id }) });

function readNote({ kind, id }: NoteSubject): Promise<NoteDocument> {
  switch (kind) {
    case "project":
      return told(api.GET("/api/v1/projects/{project_id}/note", { params: { path: { project_id: id } } }));
    case "model":
      return told(api.GET("/api/v1/models/{model_id}/note", { params: { path: { model_id: id } } }));
    case "dataset":
      return told(api.GET("/api/v1/datasets/{dataset_id}/note", { params: { path: { dataset_id: id } } }));
    case "benchmark":
      return told(api.GET("/api/v1/benchmarks/{benchmark_id}/note", { params: { path: { benchmark_id: id } } }));
    case "comparison":
      return told(api.GET("/api/v1/comparisons/{comparison_id}/note", { params: { path: { comparison_id: id } } }));
    case "optimization":
      return told(api.GET("/api/v1/optimizations/{optimization_id}/note", { params: { path: { optimization_id: id } } }));
    case "profile":
      return told(api.GET("/api/v1/profiles/{profile_id}/note", { params: { path: { profile_id: id } } }));
    default:
      return kind satisfies never;
  }
}

/** Refused with 412 when it is of another version by now. */
export function writeNote({ kind, id }: NoteSubject, text: string, version: number): Promise<NoteDocument> {
  const header = { "If-Match": `"${version}"` };
  const body = { text };
  switch (kind) {
    case "project":
      return told(api.PUT("/api/v1/projects/{project_id}/note", { params: { path: { project_id: id }, header }, body }));
    case "model":
      return told(api.PUT("/api/v1/models/{model_id}/note", { params: { path: { model_id: id }, header }, body }));
    case "dataset":
      return told(api.PUT("/api/v1/datasets/{dataset_id}/note", { params: { path: { dataset_id: id }, header }, body }));
    case "benchmark":
      return told(api.PUT("/api/v1/benchmarks/{benchmark_id}/note", { params: { path: { benchmark_id: id }, header }, body }));
    case "comparison":
      return told(api.PUT("/api/v1/comparisons/{comparison_id}/note", { params: { path: { comparison_id: id }, header }, body }));
    case "optimization":
      return told(api.PUT("/api/v1/optimizations/{optimization_id}/note", { params: { path: { optimization_id: id }, header }, body }));
    case "profile":
      return told(api.PUT("/api/v1/profiles/{profile_id}/note", { params: { path: { profile_id: id }, header }, body }));
    default:
      return kind satisfies never;
  }
}
