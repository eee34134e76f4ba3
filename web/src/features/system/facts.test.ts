import { expect, test } from "vitest";

import type { DoctorDocument, HostFacts } from "@/api/schema.gen";
import { findingsOf, hardwareOf } from "@/features/system/facts";

const HOST: HostFacts = {
  fingerprint: "",
  system: "",
  kernel: "",
  cpu_model: "",
  cpus: 1,
  cpus_allowed: [],
  cpu_quota: null,
  instruction_sets: [],
  cache_bytes: {},
  numa_nodes: null,
  memory_bytes: 0,
  hypervisor: null,
  governor: null,
  boost: null,
  huge_pages: null,
  microcode: null,
  libc: "",
  python: "",
  smt: null,
  clocksource: null,
  isolated_cpus: [],
  nohz_full: [],
  container: null,
  swap_bytes: null,
  has_pressure: null,
  machine: null,
};

test('what needs doing comes first, and "none" becomes null', () => {
  const findings: DoctorDocument["findings"] = [
    { name: "SMT", state: "ok", value: "off", effect: "none", fix: "none" },
    { name: "load", state: "problem", value: "4.34", effect: "takes CPU time", fix: "close other programs" },
  ];
  expect(findingsOf({ findings })).toEqual([
    { name: "load", state: "problem", value: "4.34", effect: "takes CPU time", fix: "close other programs" },
    { name: "SMT", state: "ok", value: "off", effect: null, fix: null },
  ]);
});

test("the machine is described by what the system reports", () => {
  const host = { ...HOST, cpu_model: "EPYC", cpus: 8, cpus_allowed: [0, 1], memory_bytes: 25_276_518_400, governor: null, smt: false, machine: "lab-2" };
  expect(hardwareOf(host)).toEqual([
    ["CPU", "EPYC"],
    ["Cores", "2 of 8 may be used"],
    ["Simultaneous multithreading", "off"],
    ["Memory", "25.3 GB"],
    ["Known as", "lab-2"],
  ]);
});
