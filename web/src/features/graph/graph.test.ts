import { expect, test } from "vitest";

import type { NodeDocument } from "@/api/parts";
import type { GraphDocument, TimeDocument } from "@/api/schema.gen";
import { kindOf } from "@/charts/kinds";
import { findNodes } from "@/features/graph/find";
import { fusedSets } from "@/features/graph/fusedSets";
import { nodeFinderOf, timesOf } from "@/features/graph/nodeTimes";
import { viewQuery, parseOpened, formatOpened, withClosed, withOpen } from "@/features/graph/opened";
import { heatColor } from "@/features/graph/paint";
import { splitLines, boxText } from "@/features/graph/sizes";
import { nextBox } from "@/features/graph/walk";

const node = (id: string, op_type: string, outputs: string[] = [], scope = ""): NodeDocument => ({
  id,
  op_type,
  outputs,
  scope,
  name: id,
  domain: "",
  inputs: [],
  attributes: [],
  bodies: [],
});
const NODES = [node("conv1", "Conv", ["relu1"], "a/b"), node("dense", "Gemm", ["y"]), node("Convert_9", "Cast", [])];
const GRAPH: GraphDocument = {
  schema: "modeldyno.graph/1",
  format: "onnx",
  sha256: "",
  name: "g",
  inputs: [],
  outputs: [],
  nodes: NODES,
  edges: [],
  tensors: [],
  groups: [],
  bodies: [],
  notes: [],
};

test("what is open stands in the address, whatever groups are called", () => {
  for (const text of ["a,b/c", "*", "*,a", "/"]) expect(formatOpened(parseOpened(text))).toBe(text);
  const odd = { kind: "some" as const, scopes: ["If_0[a,b]", "50%"] };
  expect(parseOpened(formatOpened(odd))).toEqual(odd);
  expect(formatOpened(parseOpened(undefined))).toBeUndefined();
});

test("opening and closing ask for no more groups than it takes", () => {
  const open = withOpen({ kind: "first" }, ["a", "a/b", "c"], "a/b/d");
  expect(viewQuery(open)).toEqual({ expand: ["c", "a/b/d"] });
  expect(viewQuery(withClosed(open, ["a", "a/b", "a/b/d", "c"], "a/b"))).toEqual({ expand: ["a", "c"] });
  expect(viewQuery(withClosed({ kind: "some", scopes: ["a"] }, ["a"], "a"))).toEqual({ depth: 0 });
  expect(viewQuery(withClosed({ kind: "all", except: ["a/b"] }, [], "a"))).toEqual({ depth: 100, collapse: ["a"] });
  expect(viewQuery(withOpen({ kind: "all", except: ["a", "c"] }, [], "a/b"))).toEqual({ depth: 100, collapse: ["c"] });
});

test("nodes match by name, by operator and by pattern, whole words first", () => {
  const matchingIds = (text: string) => findNodes(NODES, text).map((node) => node.id);
  expect(matchingIds("conv")).toEqual(["conv1", "Convert_9"]);
  expect(matchingIds("cast")).toEqual(["Convert_9"]);
  expect(matchingIds("/^conv\\d$/")).toEqual(["conv1"]);
  expect([matchingIds("/(/"), matchingIds("  ")]).toEqual([[], []]);
});

const row = (name: string, ms: number): TimeDocument => ({
  node: name,
  op_type: "Conv",
  nodes: 1,
  provider: "",
  calls: 1,
  share: ms / 20,
  cumulative_share: 0,
  cpu_ms: ms,
  accelerator_ms: null,
  recorded_ms: ms,
  parts: [],
  unknown: null,
  total_ms: { value: ms, low: ms - 1, high: ms + 1, level: 0.95, of: "repeats", n: 4, needs: null, repeat: null },
  work: { bound: null, bound_reason: "", bytes: null, flop: null, flop_per_byte: null, gbyte_per_s: null, gflop_per_s: null },
});

test("times belong to the nodes that an engine fused, and the rest is counted separately", () => {
  const times = timesOf(
    [row("relu1_nchwc", 8), row("fused dense", 4), row("dense/MatMulScaleFusion/", 1), row("ReorderOutput", 3)],
    20,
    nodeFinderOf(GRAPH),
    GRAPH.nodes,
  );
  expect(times.byNode.get("conv1")).toEqual({ ms: 8, ci95: [7, 9], share: 0.4, as: "Conv", together: [] });
  expect(times.byNode.get("dense")?.ms).toBe(5);
  expect([times.byScope.get("a"), times.byScope.get("a/b"), times.elsewhereMs, times.most]).toEqual([8, 8, 3, 8]);
});

test("a whole fused set has the time of the set", () => {
  const link = (id: string, op_type: string, inputs: string[], output: string): NodeDocument => ({ ...node(id, op_type, [output]), inputs });
  const nodes = [
    link("conv_1", "Conv", ["x", "w1"], "c1"),
    link("relu_1", "Relu", ["c1"], "r1"), // ran under the name of its last
    link("conv_2", "Conv", ["r1", "w2"], "c2"),
    link("relu_2", "Relu", ["c2"], "r2"), // ran under the name of its first
    link("flatten", "Flatten", ["r2"], "f"),
    link("branch", "Conv", ["r2"], "b"),
  ];
  const ran_ = (as: string, together: string[] = []) => ({ as, together });
  const ran = new Map([
    ["relu_1", ran_("Conv")],
    ["conv_2", ran_("Convolution")],
    ["branch", ran_("Conv")],
  ]);
  expect([...fusedSets(nodes, ran)]).toEqual([
    ["relu_1", ["conv_1"]],
    ["conv_2", ["relu_2"]],
  ]);
  expect([...fusedSets(nodes, new Map([["relu_1", ran_("Conv", ["conv_1"])]]))]).toEqual([["relu_1", ["conv_1"]]]); // the engine says so
  const graph = { ...GRAPH, nodes };
  const times = timesOf([row("relu_1", 2)], 4, nodeFinderOf(graph), nodes);
  expect(times.byNode.get("conv_1")).toMatchObject({ ms: 2, together: ["relu_1"] });
});

test("a box is as large as what is written in it, and long names are broken", () => {
  const measure = (text: string) => text.length * 10;
  const small = boxText({ kind: "node", op: "Conv", label: "c", nodes: 1 }, null, measure);
  const large = boxText({ kind: "node", op: "Conv", label: "a_rather_long_name_of_a_node", nodes: 1 }, "1.2 ms", measure);
  expect(large.width).toBeGreaterThanOrEqual(280);
  expect(small.width).toBeLessThan(100);
  expect(large.height).toBeGreaterThan(small.height);
  const parts = splitLines("encoder_layer_0_attention_self_query_MatMul_quantized_and_more");
  expect(parts.join("")).toBe("encoder_layer_0_attention_self_query_MatMul_quantized_and_more");
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(36);
});

test("arrows walk along edges and to what is beside", () => {
  const rect = (x: number, y: number) => ({ x, y, width: 10, height: 10 });
  const rects = new Map([
    ["a", rect(0, 0)],
    ["b", rect(0, 20)],
    ["c", rect(20, 20)],
  ]);
  const links = [
    { source: "a", target: "b" },
    { source: "a", target: "c" },
  ];
  const to = (from: string, step: "up" | "down" | "left" | "right") => nextBox(from, step, links, rects);
  expect([to("a", "down"), to("c", "up"), to("b", "right"), to("c", "left"), to("a", "up")]).toEqual(["b", "a", "c", "b", null]);
});

test("colours tell kinds of work apart, and nothing is as hot as the slowest", () => {
  expect(["Conv", "ai.onnx.ml.Foo", "MatMulInteger", "LayerNormalization", "Relu", "Reshape", "Add", "MaxPool"].map(kindOf)).toEqual([
    "Convolution",
    "Other",
    "Matrix product",
    "Normalisation",
    "Activation",
    "Shape and data",
    "Arithmetic",
    "Pooling",
  ]);
  expect([heatColor(0, false), heatColor(0, true)]).toEqual(["#ffffff", "#242424"]);
});
