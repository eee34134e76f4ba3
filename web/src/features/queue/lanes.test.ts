import { expect, test } from "vitest";

import { lanesOf } from "@/features/queue/lanes";

const NOW = new Date("2026-11-16T08:00:00Z");
const lease = (core: number, taken_at: string) => ({ core, host: "vm", job_id: 7, taken_at });

test("a core that nobody has is free, and a lease spans from its start to its foreseen end", () => {
  const lanes = lanesOf([0, 1], [lease(1, "2026-11-16T07:59:00Z")], [], new Map([[7, 60]]), NOW);
  expect(lanes).toEqual([
    { core: 0, hold: null },
    { core: 1, hold: { job: null, jobId: 7, start: 0, now: 0.5, end: 1 } },
  ]);
});

test("what has just begun does not fill the map", () => {
  const [lane] = lanesOf([0], [lease(0, "2026-11-16T07:59:57Z")], [], new Map(), NOW);
  expect(lane?.hold?.now).toBeCloseTo(0.05);
});
