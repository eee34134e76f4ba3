import type { JobTold, LeaseTold } from "@/api/schema.gen";

/** What holds a core: from when, until about when; as shares of the width that is shown. */
export type Hold = { job: JobTold | null; jobId: number; start: number; now: number; end: number };
export type Lane = { core: number; hold: Hold | null };

/** At least so much time is shown, so that a job that has just begun does not fill everything. */
const LEAST_S = 60;

/**
 * A lane for each core, time to the right: from the first lease to the last end that is foreseen.
 * `remaining` is about how many seconds a job still takes, where that is known.
 */
export function lanesOf(
  cores: readonly number[],
  leases: readonly LeaseTold[],
  jobs: readonly JobTold[],
  remaining: ReadonlyMap<number, number>,
  now: Date,
): Lane[] {
  const at = now.getTime() / 1000;
  const begins = (lease: LeaseTold) => Math.min(at, new Date(lease.taken_at).getTime() / 1000);
  const ends = (lease: LeaseTold) => at + (remaining.get(lease.job_id) ?? 0);
  const first = Math.min(at, ...leases.map(begins));
  const last = Math.max(first + LEAST_S, ...leases.map(ends));
  const share = (moment: number) => (moment - first) / (last - first);
  const all = [...new Set([...cores, ...leases.map((lease) => lease.core)])].sort((a, b) => a - b);
  return all.map((core) => {
    const lease = leases.find((one) => one.core === core);
    if (!lease) return { core, hold: null };
    const job = jobs.find((one) => one.id === lease.job_id) ?? null;
    return { core, hold: { job, jobId: lease.job_id, start: share(begins(lease)), now: share(at), end: share(ends(lease)) } };
  });
}
