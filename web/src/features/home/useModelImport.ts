import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";

import { api, Refused, answerOf } from "@/api/client";
import { useFetches } from "@/api/progress";
import { modelQuery } from "@/api/queries";
import type { ExampleRequest } from "@/api/parts";
import type { ModelDetailsDocument } from "@/api/schema.gen";
import { UploadStopped, sendModel, sendWeights, type Sending } from "@/api/upload";
import { modelAmong, nameFor, weightsAmong } from "@/features/home/chosenFiles";

export type ImportState =
  | { step: "idle" }
  | { step: "sending"; name: string; share: number } // share 1: the server reads it
  | { step: "copying"; name: string }
  | { step: "fetching"; name: string; example: string; project: number }
  | { step: "refused"; name: string; error: unknown };

export type ModelImport = {
  now: ImportState;
  files: (files: readonly File[]) => void;
  fromServer: (path: string) => void;
  example: (slug: string, name: string) => void;
  stop: () => void;
};

/** Imports a model into a project: `target`, or a new draft. A refused or stopped import leaves no draft behind. */
export function useModelImport(onImported: (model: ModelDetailsDocument) => void, target: number | null = null): ModelImport {
  const [now, set] = useState<ImportState>({ step: "idle" });
  const cache = useQueryClient();
  const sending = useRef<Sending | null>(null);
  const done = useRef(onImported);
  useEffect(() => {
    done.current = onImported;
  });

  const finishImport = useCallback(
    (model: ModelDetailsDocument) => {
      cache.setQueryData(modelQuery(model.id).queryKey, model);
      set({ step: "idle" });
      done.current(model);
    },
    [cache],
  );

  const bringInto = useCallback(
    async (name: string, importFile: (project: number) => Promise<ModelDetailsDocument | null>) => {
      const project = await (target === null ? createDraft(name) : Promise.resolve(target)).catch((error: unknown) => {
        set({ step: "refused", name, error });
        return null;
      });
      if (project === null) return;
      try {
        const model = await importFile(project);
        if (model) finishImport(model);
      } catch (error) {
        if (target === null) await abandon(project);
        set(error instanceof UploadStopped ? { step: "idle" } : { step: "refused", name, error });
      }
    },
    [finishImport, target],
  );

  const files = useCallback(
    (chosen: readonly File[]) => {
      const file = modelAmong(chosen);
      if (!file) return;
      set({ step: "sending", name: file.name, share: 0 });
      const follow = (upload: Sending) => {
        sending.current = upload;
        return upload.done;
      };
      void bringInto(file.name, async (project) => {
        const reportShare = (name: string) => (share: number) => set({ step: "sending", name, share });
        let model = await follow(sendModel(project, file, reportShare(file.name)));
        const sent = new Set<string>();
        // One by one: the index of a SavedModel's weights names further files.
        for (;;) {
          const next = weightsAmong(chosen, model.missing).find(([name]) => !sent.has(name));
          if (!next) break;
          const [name, weights] = next;
          sent.add(name);
          model = await follow(sendWeights(model.id, name, weights, reportShare(name)));
        }
        return model;
      });
    },
    [bringInto],
  );

  const fromServer = useCallback(
    (path: string) => {
      const name = path.split("/").pop() ?? path;
      set({ step: "copying", name });
      void bringInto(name, (project_id) =>
        answerOf(api.POST("/api/v1/projects/{project_id}/models/import", { params: { path: { project_id } }, body: { path } })),
      );
    },
    [bringInto],
  );

  const example = useCallback(
    (slug: string, name: string) => {
      set({ step: "copying", name });
      void bringInto(name, async (project) => {
        await startFetch(project, slug);
        set({ step: "fetching", name, example: slug, project });
        return null; // `useArrival` waits for it
      });
    },
    [bringInto],
  );

  useArrival(now, finishImport, (error) => {
    if (now.step !== "fetching") return;
    if (target === null) void abandon(now.project);
    set({ step: "refused", name: now.name, error });
  });

  const stop = useCallback(() => sending.current?.stop(), []);
  return { now, files, fromServer, example, stop };
}

/** For an example that downloads in the background: refetches its state on each event. */
function useArrival(now: ImportState, finishImport: (model: ModelDetailsDocument) => void, fail: (error: unknown) => void): void {
  const fetches = useFetches();
  const slug = now.step === "fetching" ? now.example : null;
  const project = now.step === "fetching" ? now.project : null;
  const state = slug ? fetches.get(slug)?.state : undefined;
  const onArrival = useEffectEvent(finishImport);
  const onFailure = useEffectEvent(fail);
  useEffect(() => {
    if (slug === null || project === null) return;
    const aborter = new AbortController();
    void (async () => {
      const { fetches } = await answerOf(api.GET("/api/v1/examples/{example}", { params: { path: { example: slug } } }));
      const ownFetch = fetches.find((fetch) => fetch.project_id === project);
      if (aborter.signal.aborted || !ownFetch || ownFetch.state === "fetching") return;
      if (ownFetch.model_id === null) onFailure(new Refused(502, { title: "The example could not be downloaded", ...ownFetch.failure }));
      else onArrival(await answerOf(api.GET("/api/v1/models/{model_id}", { params: { path: { model_id: ownFetch.model_id } } })));
    })().catch(onFailure);
    return () => aborter.abort();
  }, [slug, project, state]);
}

async function createDraft(file: string): Promise<number> {
  const project = await answerOf(api.POST("/api/v1/projects", { body: { name: nameFor(file), is_draft: true } }));
  return project.id;
}

async function startFetch(project_id: number, slug: string): Promise<void> {
  const catalogue = await answerOf(api.GET("/api/v1/examples"));
  const isKnown = (name: string): name is ExampleRequest["example"] => catalogue.examples.some((example) => example.slug === name);
  if (!isKnown(slug)) throw new Refused(404, { title: `There is no example ${slug}` });
  await answerOf(api.POST("/api/v1/projects/{project_id}/models/example", { params: { path: { project_id } }, body: { example: slug } }));
}

async function abandon(project_id: number): Promise<void> {
  await answerOf(api.DELETE("/api/v1/projects/{project_id}", { params: { path: { project_id }, query: { cascade: true } } })).catch(() => undefined);
}
