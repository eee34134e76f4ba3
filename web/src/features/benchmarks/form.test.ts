import { describe, expect, test } from "vitest";

import type { EngineTold } from "@/api/schema.gen";
import { countsIn, engineTrouble, fieldOf, fixedBatch, merged, powersOfTwo } from "@/features/benchmarks/form";

describe("counts", () => {
  test("are pasted by the handful", () => {
    expect(countsIn("1,8, 32", 1000, "batch sizes")).toEqual({ counts: [1, 8, 32], trouble: null });
  });
  test.each([
    ["0", "0 is too few"],
    ["-1", "-1 is too few"],
    ["−1", "−1 is too few"],
    ["abc", "“abc” is not a whole number"],
    ["1.5", "“1.5” is not a whole number"],
    ["9", "9 is more than the 2 cores of this machine"],
  ])("like %s are refused with the reason", (word, reason) => {
    expect(countsIn(word, 2, "core counts").trouble).toContain(reason);
  });
  test("are kept once, in order", () => {
    expect(merged([8, 1], [4, 8])).toEqual([1, 4, 8]);
    expect(powersOfTwo(6)).toEqual([1, 2, 4]);
  });
});

test("an engine says why it cannot", () => {
  const engine: EngineTold = { name: "openvino", title: "OpenVINO", usable: false, version: null, why_not: "openvino is not installed", install: "pip install openvino", devices: [], unavailable_devices: {}, device_notes: {}, formats: ["onnx"], adapter: "openvino", python: null, origin: "" };
  expect(engineTrouble(engine, { format: "onnx" })).toBe("openvino is not installed. To get it: pip install openvino");
  expect(engineTrouble({ ...engine, usable: true }, { format: "torchscript" })).toContain("does not read TorchScript");
  expect(engineTrouble({ ...engine, usable: true }, { format: "onnx" })).toBeNull();
});

test("a fixed batch is that of every input", () => {
  expect(fixedBatch([[4, 3], [4]])).toBe(4);
  expect(fixedBatch([["batch", 3]])).toBeNull();
  expect(fixedBatch([[4], [2]])).toBeNull();
});

test("a refusal of the server finds its field", () => {
  expect(fieldOf("This machine has no 99 cores to offer", "we may use 2")).toBe("cores");
  expect(fieldOf("batch_sizes.0: Input should be greater than or equal to 1", "")).toBe("batches");
  expect(fieldOf("The queue is full", "")).toBeNull();
});
