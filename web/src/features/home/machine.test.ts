import { expect, test } from "vitest";

import { machineWords } from "@/features/home/machine";

test("a machine is its cores, its memory and its processor", () => {
  expect(machineWords({ cpus: 8, cpus_allowed: [0, 1], memory_bytes: 64e9, cpu_model: "AMD EPYC" })).toBe("2 cores · 64.0 GB · AMD EPYC");
  expect(machineWords({ cpus: 1 })).toBe("1 core");
});
