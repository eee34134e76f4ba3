import type { CoreDocument } from "@/api/parts";
import type { JobDocument } from "@/api/schema.gen";

/** What holds a core: from when, until about when; as shares of the visible width. */
export type Hold = { job: JobDocument | null; jobId: number; start: number; now: number; end: number };
/** `usedBy` is another process of this machine; nothing else is known about it. */
export type Lane = { core: number; hold: Hold | null; usedBy: string | null };

/** The lanes cover at least this much time, so that a job that has just begun does not fill them. */
const LEAST_S = 60;

/**
 * A lane for each core, time to the right: from the first lease to the last expected end.
 * `remaining` is about how many seconds a job still takes, if known.
 */
export function lanesOf(cores: readonly CoreDocument[], jobs: readonly JobDocument[], remaining: ReadonlyMap<number, number>, now: Date): Lane[] {
  const nowS = now.getTime() / 1000;
  const heldCores = cores.filter((core) => core.job_id !== null);
  const begins = (core: CoreDocument) => Math.min(nowS, core.since === null ? nowS : new Date(core.since).getTime() / 1000);
  const ends = (core: CoreDocument) => nowS + (remaining.get(core.job_id ?? 0) ?? 0);
  const first = Math.min(nowS, ...heldCores.map(begins));
  const last = Math.max(first + LEAST_S, ...heldCores.map(ends));
  const share = (moment: number) => (moment - first) / (last - first);
  return cores.map((document) => {
    const { core, job_id: jobId, used_by: usedBy } = document;
    if (jobId === null) return { core, hold: null, usedBy };
    const job = jobs.find((other) => other.id === jobId) ?? null;
    return { core, hold: { job, jobId, start: share(begins(document)), now: share(nowS), end: share(ends(document)) }, usedBy: null };
  });
}
