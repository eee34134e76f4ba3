import { expect, test } from "vitest";

import { largestError } from "@/features/models/checks";

const check = (max_rel_error: number) => ({ batch_size: 1, max_abs_error: 0, max_rel_error });

test("the worst input speaks for all", () => {
  expect(largestError([check(2e-8), check(2.12e-7)])).toBe("on 2 inputs it differs by at most 2.1e-7 of the largest value");
  expect(largestError([check(0), check(0)])).toBe("on 2 inputs it differs by nothing");
});
