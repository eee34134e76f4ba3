import { expect, test } from "vitest";

import { findingsOf, hardwareOf } from "@/features/system/facts";

const DOCTOR = {
  schema: "modeldyno.doctor/1", created_at: "", tool_version: "0.1.0", verdict: "unfit" as const, clock: {}, noise: null, peaks: null, host: {},
};

test("what needs doing comes first, and nothing to do is not told", () => {
  const findings = [
    { name: "SMT", state: "ok", value: "off", effect: "none", fix: "none" },
    { name: "load", state: "problem", value: "4.34", effect: "takes CPU time", fix: "close other programs" },
  ];
  expect(findingsOf({ ...DOCTOR, findings })).toEqual([
    { name: "load", state: "problem", value: "4.34", effect: "takes CPU time", fix: "close other programs" },
    { name: "SMT", state: "ok", value: "off", effect: null, fix: null },
  ]);
});

test("the machine is told by what the system says of it", () => {
  const host = { cpu_model: "EPYC", cpus: 8, cpus_allowed: [0, 1], memory_bytes: 25_276_518_400, governor: null, smt: false };
  expect(hardwareOf(host)).toEqual([
    ["CPU", "EPYC"],
    ["Cores", "2 of 8 may be used"],
    ["Simultaneous multithreading", "off"],
    ["Memory", "25.3 GB"],
  ]);
});
