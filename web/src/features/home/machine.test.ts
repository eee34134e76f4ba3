import { expect, test } from "vitest";

import { healthWords, machineWords } from "@/features/home/machine";

test("a machine is the cores that we may use, its memory and its processor", () => {
  const machine = { cpus: 8, cpus_allowed: 2, memory_bytes: 64e9, cpu_model: "AMD EPYC", system: "Linux" };
  expect(machineWords(machine)).toBe("2 cores · 64.0 GB · AMD EPYC");
});

test("what is not known of its health is left out", () => {
  const health = { verdict: "fit" as const, sentence: "fit", governor: null, load_1m: 0.12, findings: [] };
  expect(healthWords(health)).toBe("load 0.1");
});
