import { expect, test } from "vitest";

import { modelAmong, nameFor, weightsAmong } from "@/features/home/chosenFiles";

const files = [{ name: "big.onnx.data" }, { name: "big.onnx" }];

test("the model is recognised among its weights", () => {
  expect(modelAmong(files)?.name).toBe("big.onnx");
  expect(modelAmong([{ name: "notes.txt" }])?.name).toBe("notes.txt");
});

test("weights go by the end of their path", () => {
  expect(weightsAmong(files, ["weights/big.onnx.data", "other.bin"])).toEqual([["weights/big.onnx.data", files[0]]]);
});

test("a project is called as the file is, at first", () => {
  expect([nameFor("a/resnet50-v1.5.onnx"), nameFor(".onnx"), nameFor("model")]).toEqual(["resnet50-v1.5", ".onnx", "model"]);
});
