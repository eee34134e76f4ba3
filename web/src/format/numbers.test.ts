import { describe, expect, test } from "vitest";

import type { Format } from "@/api/figureColumns";
import { bytes, duration, formatFigure, groupDigits, remainingText, plural, quantity, ratio, liveEstimateText } from "@/format/numbers";

describe("a quantity", () => {
  test("shows no more digits than its interval supports", () => {
    expect(quantity(0.21437, [0.2104, 0.2184], "ms")).toEqual({ value: "0.2144", spread: "±0.0040", unit: "ms" });
    expect(quantity(1234.56, [1184, 1285], "ms").value).toBe("1\u2009235");
  });
  test("gives a skewed interval by its ends", () => {
    expect(quantity(1.0, [0.9, 2.0], "ms").spread).toBe("0.90 to 2.00");
  });
  test("without an interval has none, and without a value is a dash", () => {
    expect(quantity(1.5, null, "ms")).toEqual({ value: "1.50", spread: null, unit: "ms" });
    expect(quantity(null, null, "ms").value).toBe("–");
  });
});

test("large numbers are grouped, and minus is a minus", () => {
  expect(groupDigits("-1234567.25")).toBe("−1\u2009234\u2009567.25");
});

test("bytes count in thousands", () => {
  expect([bytes(999), bytes(1000), bytes(137_400), bytes(null)]).toEqual(["999 B", "1.00 kB", "137 kB", "–"]);
});

test("a ratio shows both ends of its interval", () => {
  expect(ratio(3.001, [2.912, 3.093])).toBe("3.001× (2.912–3.093)");
});

test("a duration is given in round numbers", () => {
  expect([duration(0.2), duration(38.4), duration(130), duration(3900)]).toEqual(["under a second", "38 s", "2 min", "1 h 5 min"]);
});

test("what is still measured says how open it is", () => {
  expect([liveEstimateText(0.3123, 0.04), liveEstimateText(7, 7000), liveEstimateText(7, null)]).toEqual([
    "0.312 ms ±4 %",
    "7.00 ms, still very uncertain",
    "7.00 ms",
  ]);
  expect([remainingText(0.2), remainingText(38)]).toEqual(["under a second left", "about 38 s left"]);
});

test("one is one, and two are many", () => {
  expect([plural(1, "session"), plural(2, "session"), plural(2, "entry", "entries")]).toEqual(["1 session", "2 sessions", "2 entries"]);
});

test("a figure is written as its value is meant", () => {
  const text = (format: Format, value: number | null, unit = "") => {
    const { value: valueText, spread, unit: unitText } = formatFigure(format, value, null, unit);
    return [valueText, spread, unitText];
  };
  expect(text("time", 1.5)).toEqual(["1.50", null, "ms"]);
  expect(text("bytes", 2_500_000)).toEqual(["2.50 MB", null, ""]);
  expect(text("count", 12)).toEqual(["12", null, ""]);
  expect(text("share", 0.125)).toEqual(["12.5 %", null, ""]);
  expect(text("amount", 0.25, "J")).toEqual(["0.250", null, "J"]);
  expect(text("rate", null, "items/s")).toEqual(["–", null, "items/s"]);
  expect(formatFigure("rate", 10, [9, 11], "items/s").spread).toBe("±1.0");
});
