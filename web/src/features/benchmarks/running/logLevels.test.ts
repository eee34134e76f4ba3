import { expect, test } from "vitest";

import { filterByLevel, levelOf, withoutGpuLines } from "@/features/benchmarks/running/logLevels";

test("a level is read off the words of each engine", () => {
  expect(levelOf("2026-11-16 10:00:00.123 [W:onnxruntime:, graph.cc:1] CleanUnusedInitializers")).toBe("warning");
  expect(levelOf("[E:onnxruntime:Default, x.cc:3 Run] Non-zero status code")).toBe("error");
  expect(levelOf("W0000 00:00:1763287 gpu_device.cc:2342] Cannot dlopen some GPU libraries")).toBe("warning");
  expect(levelOf("2026-11-16 10:00:00.1: I tensorflow/core/platform/cpu_feature_guard.cc:210] optimized")).toBe("info");
  expect(levelOf("[ WARNING ] the plugin falls back")).toBe("warning");
  expect(levelOf("/lib/x.py:3: UserWarning: deprecated")).toBe("warning");
  expect(levelOf("ValueError: bad shape")).toBe("error");
  expect(levelOf("Everything is fine, without an error")).toBeNull();
  expect(levelOf("Infer requests: 4")).toBeNull();
});

test("a trace stays whole, and what has no level goes", () => {
  const lines = ["loading", "Traceback (most recent call last):", '  File "x.py", line 1', "ValueError: bad", "UserWarning: old", "done"];
  expect(filterByLevel(lines, "error")).toEqual(lines.slice(1, 4));
  expect(filterByLevel(lines, "warning")).toEqual(lines.slice(1, 5));
  expect(filterByLevel(lines, "all")).toEqual(lines);
});

test("who measures on the CPU does not read of GPUs that are not there", () => {
  expect(withoutGpuLines(["[W:onnxruntime:Default] GPU device discovery failed: ReadFileContents", "[W:onnxruntime:] other"])).toEqual([
    "[W:onnxruntime:] other",
  ]);
});
