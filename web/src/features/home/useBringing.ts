import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";

import { api, Refused, answerOf } from "@/api/client";
import { useFetches } from "@/api/progress";
import { modelQuery } from "@/api/queries";
import type { ExampleRequest } from "@/api/parts";
import type { ModelDetailsDocument } from "@/api/schema.gen";
import { UploadStopped, sendModel, sendWeights, type Sending } from "@/api/upload";
import { modelAmong, nameFor, weightsAmong } from "@/features/home/chosenFiles";

export type Bringing =
  | { step: "idle" }
  | { step: "sending"; name: string; share: number } // share 1: the server reads it
  | { step: "copying"; name: string }
  | { step: "fetching"; name: string; example: string; project: number }
  | { step: "refused"; name: string; error: unknown };

export type Bring = {
  now: Bringing;
  files: (files: readonly File[]) => void;
  fromServer: (path: string) => void;
  example: (slug: string, name: string) => void;
  stop: () => void;
};

/** A model on its way into a project: `target`, or a draft of its own. What is refused or stopped leaves no draft behind. */
export function useBringing(arrived: (model: ModelDetailsDocument) => void, target: number | null = null): Bring {
  const [now, set] = useState<Bringing>({ step: "idle" });
  const cache = useQueryClient();
  const sending = useRef<Sending | null>(null);
  const done = useRef(arrived);
  useEffect(() => {
    done.current = arrived;
  });

  const arrive = useCallback(
    (model: ModelDetailsDocument) => {
      cache.setQueryData(modelQuery(model.id).queryKey, model);
      set({ step: "idle" });
      done.current(model);
    },
    [cache],
  );

  const into = useCallback(
    async (name: string, bring: (project: number) => Promise<ModelDetailsDocument | null>) => {
      const project = await (target === null ? begin(name) : Promise.resolve(target)).catch((error: unknown) => {
        set({ step: "refused", name, error });
        return null;
      });
      if (project === null) return;
      try {
        const model = await bring(project);
        if (model) arrive(model);
      } catch (error) {
        if (target === null) await abandon(project);
        set(error instanceof UploadStopped ? { step: "idle" } : { step: "refused", name, error });
      }
    },
    [arrive, target],
  );

  const files = useCallback(
    (chosen: readonly File[]) => {
      const file = modelAmong(chosen);
      if (!file) return;
      set({ step: "sending", name: file.name, share: 0 });
      const follow = (one: Sending) => {
        sending.current = one;
        return one.done;
      };
      void into(file.name, async (project) => {
        const tell = (name: string) => (share: number) => set({ step: "sending", name, share });
        let model = await follow(sendModel(project, file, tell(file.name)));
        const sent = new Set<string>();
        // One by one: the index of a SavedModel's weights tells of further files.
        for (;;) {
          const next = weightsAmong(chosen, model.missing).find(([name]) => !sent.has(name));
          if (!next) break;
          const [name, weights] = next;
          sent.add(name);
          model = await follow(sendWeights(model.id, name, weights, tell(name)));
        }
        return model;
      });
    },
    [into],
  );

  const fromServer = useCallback(
    (path: string) => {
      const name = path.split("/").pop() ?? path;
      set({ step: "copying", name });
      void into(name, (project_id) => answerOf(api.POST("/api/v1/projects/{project_id}/models/import", { params: { path: { project_id } }, body: { path } })));
    },
    [into],
  );

  const example = useCallback(
    (slug: string, name: string) => {
      set({ step: "copying", name });
      void into(name, async (project) => {
        await startFetch(project, slug);
        set({ step: "fetching", name, example: slug, project });
        return null; // `useArrival` sees it come
      });
    },
    [into],
  );

  useArrival(now, arrive, (error) => {
    if (now.step !== "fetching") return;
    if (target === null) void abandon(now.project);
    set({ step: "refused", name: now.name, error });
  });

  const stop = useCallback(() => sending.current?.stop(), []);
  return { now, files, fromServer, example, stop };
}

/** Of an example that comes in the background: events say look, the server says what is. */
function useArrival(now: Bringing, arrive: (model: ModelDetailsDocument) => void, fail: (error: unknown) => void): void {
  const fetches = useFetches();
  const slug = now.step === "fetching" ? now.example : null;
  const project = now.step === "fetching" ? now.project : null;
  const state = slug ? fetches.get(slug)?.state : undefined;
  const onArrival = useEffectEvent(arrive);
  const onFailure = useEffectEvent(fail);
  useEffect(() => {
    if (slug === null || project === null) return;
    const over = new AbortController();
    void (async () => {
      const { fetches: known } = await answerOf(api.GET("/api/v1/examples/{example}", { params: { path: { example: slug } } }));
      const mine = known.find((one) => one.project_id === project);
      if (over.signal.aborted || !mine || mine.state === "fetching") return;
      if (mine.model_id === null) onFailure(new Refused(502, { title: "The example could not be downloaded", ...mine.failure }));
      else onArrival(await answerOf(api.GET("/api/v1/models/{model_id}", { params: { path: { model_id: mine.model_id } } })));
    })().catch(onFailure);
    return () => over.abort();
  }, [slug, project, state]);
}

async function begin(file: string): Promise<number> {
  const made = await answerOf(api.POST("/api/v1/projects", { body: { name: nameFor(file), is_draft: true } }));
  return made.id;
}

async function startFetch(project_id: number, slug: string): Promise<void> {
  const known = await answerOf(api.GET("/api/v1/examples"));
  const isKnown = (name: string): name is ExampleRequest["example"] => known.examples.some((one) => one.slug === name);
  if (!isKnown(slug)) throw new Refused(404, { title: `There is no example ${slug}` });
  await answerOf(api.POST("/api/v1/projects/{project_id}/models/example", { params: { path: { project_id } }, body: { example: slug } }));
}

async function abandon(project_id: number): Promise<void> {
  await answerOf(api.DELETE("/api/v1/projects/{project_id}", { params: { path: { project_id }, query: { cascade: true } } })).catch(() => undefined);
}
