import { expect, test } from "vitest";

import { KINDS, kindOf } from "@/kinds/kinds";

test("every kind has a place of its own", () => {
  expect(kindOf("benchmark").place(1, 7)).toMatchObject({ to: "/p/$pid/benchmarks/$bid", params: { pid: 1, bid: 7 } });
  expect(kindOf("comparison").place(1, 7)).toMatchObject({ search: { comparison: 7 } });
});

test("a kind without a section is shown with its project", () => {
  expect(kindOf("experiment").title).toBe("Experiment");
  expect(kindOf("experiment").place(3, 1)).toMatchObject({ to: "/p/$pid", params: { pid: 3 } });
});

test("one entry gives a kind its section", () => {
  KINDS["experiment"] = { title: "Experiment of ours", place: (pid) => ({ to: "/p/$pid/models", params: { pid } }) };
  expect(kindOf("experiment").title).toBe("Experiment of ours");
  expect(kindOf("experiment").place(3, 1)).toEqual({ to: "/p/$pid/models", params: { pid: 3 } });
  delete KINDS["experiment"];
});
