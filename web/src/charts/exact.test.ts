import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";

test("every line across a chart stands where its number says", () => {
  const folder = new URL(".", import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const lines = files.flatMap((name) => readFileSync(new URL(name, folder), "utf8").match(/markLine: \{[^}]*/g) ?? []);
  expect(lines.length).toBeGreaterThanOrEqual(4);
  expect(lines.filter((line) => !line.includes("precision: EXACT"))).toEqual([]);
});
