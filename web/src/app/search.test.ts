import { expect, test } from "vitest";

import { benchmarks, compare, parseSearch, stringifySearch } from "@/app/search";

test("addresses are plain words, and mean the same when they are read again", () => {
  const search = { a: "12", b: "15.3", diff: true, limit: 5.5 };
  expect(stringifySearch({ ...search, tab: undefined })).toBe("?a=12&b=15.3&diff=true&limit=5.5");
  expect(compare(parseSearch(stringifySearch(search)))).toMatchObject(search);
  expect(stringifySearch({ sel: "1,2" })).toBe("?sel=1,2");
});

test("what does not fit is left out", () => {
  expect(benchmarks(parseSearch("?layout=wall&from=x&add=1"))).toEqual({
    layout: undefined,
    sel: undefined,
    text: undefined,
    sort: undefined,
    add: true,
    from: undefined,
  });
});
