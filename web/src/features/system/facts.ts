import type { DoctorTold, SystemTold } from "@/api/schema.gen";
import { bytes, plural } from "@/format/numbers";

export type Finding = { name: string; state: FindingState; value: string; effect: string | null; fix: string | null };
export type FindingState = "ok" | "warning" | "problem" | "unknown";

const STATES: readonly FindingState[] = ["ok", "warning", "problem", "unknown"];
// What needs doing comes first.
const URGENCY: Record<FindingState, number> = { problem: 0, warning: 1, unknown: 2, ok: 3 };

/** What the doctor found, the worst first; "none" means that there is nothing to tell. */
export function findingsOf(doctor: DoctorTold): Finding[] {
  return doctor.findings
    .map((found) => ({
      name: words(found.name) ?? "",
      state: STATES.find((state) => state === found.state) ?? "unknown",
      value: words(found.value) ?? "",
      effect: unlessNone(found.effect),
      fix: unlessNone(found.fix),
    }))
    .sort((a, b) => URGENCY[a.state] - URGENCY[b.state]);
}

/** The machine, as label and text; what the system does not say is left out. */
export function hardwareOf(host: SystemTold["host"]): [label: string, text: string][] {
  const cpus = number(host.cpus);
  const allowed = list(host.cpus_allowed);
  const quota = number(host.cpu_quota);
  const memory = number(host.memory_bytes);
  const caches = Object.entries(record(host.cache_bytes)).map(([name, size]) => `${name} ${bytes(number(size))}`);
  const told: [string, string | null][] = [
    ["CPU", words(host.cpu_model)],
    ["Cores", cpus === null ? null : allowed.length < cpus ? `${allowed.length} of ${cpus} may be used` : plural(cpus, "core")],
    ["CPU quota", quota === null ? null : plural(quota, "core")],
    ["Simultaneous multithreading", switched(host.smt)],
    ["Instruction sets", list(host.instruction_sets).join(", ").replaceAll("sse4_", "sse4.").replaceAll("_", " ").toUpperCase() || null],
    ["Caches", caches.join(", ") || null],
    ["Memory", memory === null ? null : bytes(memory)],
    ["Memory nodes", number(host.numa_nodes)?.toString() ?? null],
    ["Governor", words(host.governor)],
    ["Turbo", switched(host.boost)],
    ["Virtual machine", host.hypervisor === true ? "yes" : host.hypervisor === false ? "no" : null],
    ["Container", words(host.container)],
    ["System", [words(host.system), words(host.kernel)].filter(Boolean).join(" ") || null],
    ["Python", words(host.python)],
    ["C library", words(host.libc)],
  ];
  return told.flatMap(([label, text]) => (text === null ? [] : [[label, text] as [string, string]]));
}

/** The cores that jobs may be given. */
export function coresOf(host: SystemTold["host"]): number[] {
  return list(host.cpus_allowed).map(Number);
}

const words = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const unlessNone = (value: unknown): string | null => (value === "none" ? null : words(value));
const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
const list = (value: unknown): (string | number)[] =>
  Array.isArray(value) ? value.filter((one): one is string | number => typeof one === "string" || typeof one === "number") : [];
const switched = (value: unknown): string | null => (value === true ? "on" : value === false ? "off" : null);
function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
