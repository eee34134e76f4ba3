import type { DoctorDocument, HostFacts } from "@/api/schema.gen";
import { bytes, plural } from "@/format/numbers";

export type Finding = { name: string; state: FindingState; value: string; effect: string | null; fix: string | null };
export type FindingState = DoctorDocument["findings"][number]["state"];

// What needs doing comes first.
const URGENCY: Record<FindingState, number> = { problem: 0, warning: 1, unknown: 2, ok: 3 };

/** The findings of the doctor, the worst first; "none" means no effect or fix. */
export function findingsOf(doctor: Pick<DoctorDocument, "findings">): Finding[] {
  return doctor.findings
    .map((finding) => ({ ...finding, effect: unlessNone(finding.effect), fix: unlessNone(finding.fix) }))
    .sort((a, b) => URGENCY[a.state] - URGENCY[b.state]);
}

/** The machine, as label and text; what the system does not say is left out. */
export function hardwareOf(host: HostFacts): [label: string, text: string][] {
  const allowed = host.cpus_allowed.length;
  const caches = Object.entries(host.cache_bytes).map(([name, size]) => `${name} ${bytes(size)}`);
  const facts: [string, string | null][] = [
    ["CPU", host.cpu_model],
    ["Cores", allowed < host.cpus ? `${allowed} of ${host.cpus} may be used` : plural(host.cpus, "core")],
    ["CPU quota", host.cpu_quota === null ? null : plural(host.cpu_quota, "core")],
    ["Simultaneous multithreading", stateText(host.smt, "on", "off")],
    ["Instruction sets", host.instruction_sets.join(", ").replaceAll("sse4_", "sse4.").replaceAll("_", " ").toUpperCase()],
    ["Caches", caches.join(", ")],
    ["Memory", bytes(host.memory_bytes)],
    ["Memory nodes", host.numa_nodes?.toString() ?? null],
    ["Governor", host.governor],
    ["Turbo", stateText(host.boost, "on", "off")],
    ["Virtual machine", stateText(host.hypervisor, "yes", "no")],
    ["Container", host.container],
    ["System", `${host.system} ${host.kernel}`.trim()],
    ["Python", host.python],
    ["C library", host.libc],
    ["Known as", host.machine],
  ];
  return facts.flatMap(([label, text]) => (text ? [[label, text] as [string, string]] : []));
}

const unlessNone = (text: string): string | null => (text === "none" || text === "" ? null : text);
const stateText = (is: boolean | null, yes: string, no: string): string | null => (is === null ? null : is ? yes : no);
