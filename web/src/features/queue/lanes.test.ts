import { expect, test } from "vitest";

import { lanesOf } from "@/features/queue/lanes";

const NOW = new Date("2026-11-16T08:00:00Z");
const free = (core: number, used_by: string | null = null) => ({ core, job_id: null, since: null, used_by });
const lease = (core: number, since: string) => ({ core, job_id: 7, since, used_by: null });

test("a core that nobody has is free, and a lease spans from its start to its foreseen end", () => {
  const lanes = lanesOf([free(0), lease(1, "2026-11-16T07:59:00Z"), free(2, "modeldyno pid 5")], [], new Map([[7, 60]]), NOW);
  expect(lanes).toEqual([
    { core: 0, hold: null, usedBy: null },
    { core: 1, hold: { job: null, jobId: 7, start: 0, now: 0.5, end: 1 }, usedBy: null },
    { core: 2, hold: null, usedBy: "modeldyno pid 5" },
  ]);
});

test("what has just begun does not fill the map", () => {
  const [lane] = lanesOf([lease(0, "2026-11-16T07:59:57Z")], [], new Map(), NOW);
  expect(lane?.hold?.now).toBeCloseTo(0.05);
});
