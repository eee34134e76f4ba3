import { describe, expect, test } from "vitest";

import { COUNT_AXES } from "@/api/axes";
import type { EngineDocument } from "@/api/parts";
import {
  chipsIn,
  compareCommands,
  countsIn,
  effectiveOf,
  engineTrouble,
  fieldOf,
  firstDraft,
  fixedBatch,
  mergeCounts,
  planWords,
  powersOfTwo,
  queuedWords,
  coresNote,
  type Draft,
} from "@/features/benchmarks/add/form";

const first = firstDraft([], [], 2, null);

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
    expect(mergeCounts([8, 1], [4, 8])).toEqual([1, 4, 8]);
    expect(powersOfTwo(6)).toEqual([1, 2, 4]);
  });
});

test("of several words none is dropped silently", () => {
  const { accepted, troubles } = chipsIn(["8", "abc", "0"], 64, "batch sizes");
  expect(accepted).toEqual([8]);
  expect(troubles).toEqual(["“abc” is not a whole number.", "0 is too few: batch sizes start at 1."]);
});

test("an engine says why it cannot", () => {
  const engine: EngineDocument = {
    name: "openvino",
    title: "OpenVINO",
    color: 1,
    usable: false,
    version: null,
    why_not: "openvino is not installed",
    install: "pip install openvino",
    devices: [],
    unavailable_devices: {},
    device_notes: {},
    formats: ["onnx"],
    has_streams: true,
    adapter: "openvino",
    python: null,
    origin: "",
  };
  expect(engineTrouble(engine, { format: "onnx" })).toBe("openvino is not installed. To get it: pip install openvino");
  expect(engineTrouble({ ...engine, usable: true }, { format: "torchscript" })).toContain("does not read TorchScript");
  expect(engineTrouble({ ...engine, usable: true }, { format: "onnx" })).toBeNull();
});

test("a comparison says how a terminal alternates, and how much it queues", () => {
  const draft = effectiveOf(
    { ...first, engine: "onnxruntime", otherEngine: "openvino", counts: { ...first.counts, cores: [1, 2], batch_sizes: [8] }, budget: "quick" },
    null,
    [],
  );
  expect(compareCommands(draft, "net.onnx", "my net.onnx")).toEqual([
    "modeldyno compare net.onnx@engine=onnxruntime,batch=8 'my net.onnx@engine=openvino,batch=8' --quick",
    "modeldyno compare net.onnx@engine=onnxruntime,batch=8,cores=2 'my net.onnx@engine=openvino,batch=8,cores=2' --quick",
  ]);
  expect([queuedWords(3, 0, false), queuedWords(3, 4, true)]).toEqual(["Benchmark 3 is in the queue", "2 benchmarks and 4 comparisons are in the queue"]);
});

test("only engines that have streams get several", () => {
  const engines = [
    { name: "onnxruntime", has_streams: false },
    { name: "openvino", has_streams: true },
  ];
  const edited = { ...first, engine: "openvino", otherEngine: "onnxruntime", counts: { ...first.counts, cores: [2], streams: [1, 2] } };
  const effective = effectiveOf(edited, null, engines);
  expect([effective.counts.streams, effective.otherCounts.streams]).toEqual([[1, 2], [1]]);
  expect(planWords(effective, 2)).toBe("1 core count × 1 batch size × 2 stream counts = 2 cells");
  expect(planWords({ ...effective, compares: true }, 3)).toBe("1 core count × 1 batch size × 2 stream counts + 1 core count × 1 batch size = 3 cells");
  expect(compareCommands(effective, "net.onnx", "net.onnx")).toEqual([
    "modeldyno compare net.onnx@engine=openvino,cores=2 net.onnx@engine=onnxruntime,cores=2",
    "modeldyno compare net.onnx@engine=openvino,cores=2,streams=2 net.onnx@engine=onnxruntime,cores=2",
  ]);
  expect(effectiveOf({ ...edited, engine: "onnxruntime" }, null, engines).counts.streams).toEqual([1]);
  const notes = (draft: Draft) => COUNT_AXES.flatMap((axis) => coresNote(axis, draft) ?? []);
  expect(notes(edited)).toEqual([]);
  expect(notes({ ...edited, counts: { ...edited.counts, cores: [1, 2] } })).toEqual(["2 streams need 2 cores: cells with fewer will fail."]);
});

test("a fixed batch is that of every input", () => {
  expect(fixedBatch([[4, 3], [4]])).toBe(4);
  expect(fixedBatch([["batch", 3]])).toBeNull();
  expect(fixedBatch([[4], [2]])).toBeNull();
});

test("a refusal of the server finds its field", () => {
  expect(fieldOf("This machine has no 99 cores to offer", "we may use 2")).toBe("cores");
  expect(fieldOf("batch_sizes.0: Input should be greater than or equal to 1", "")).toBe("batch_sizes");
  expect(fieldOf("The queue is full", "")).toBeNull();
});
