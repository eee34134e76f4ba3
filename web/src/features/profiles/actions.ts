import { notifications } from "@mantine/notifications";

import { queries } from "@/api/cache";
import { api, answerOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { removeSoon } from "@/ui/undo";
import { errorText } from "@/ui/Trouble";

export const profileKey = (id: number): string => `profile ${id}`;

/** Notifies of a refusal when there is no form to show it. */
async function attempt(what: string, request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    const { title, why, fix } = errorText(error);
    notifications.show({ color: "red", title: what, message: [title, why, fix].filter(Boolean).join(". "), autoClose: 12_000 });
  }
  void queries.invalidateQueries({ queryKey: queryKeys.profiles });
  void queries.invalidateQueries({ queryKey: queryKeys.jobs });
}

export const runProfile = (profile_id: number): Promise<void> =>
  attempt("Not run", answerOf(api.POST("/api/v1/profiles/{profile_id}/runs", { params: { path: { profile_id } } })));

export const cancelJob = (job_id: number): Promise<void> =>
  attempt("Not stopped", answerOf(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id } } })));

export const resumeJob = (job_id: number): Promise<void> =>
  attempt("Not resumed", answerOf(api.POST("/api/v1/jobs/{job_id}/resume", { params: { path: { job_id } } })));

export function removeProfile(profile_id: number, name: string): void {
  removeSoon(profileKey(profile_id), `Profile ${name}`, () =>
    answerOf(api.DELETE("/api/v1/profiles/{profile_id}", { params: { path: { profile_id } } })).then(() =>
      queries.invalidateQueries({ queryKey: queryKeys.profiles }),
    ),
  );
}
