import { engineTitle } from "@/api/engines";
import type { BenchmarkDocument } from "@/api/schema.gen";
import { NOTHING, bytes, percent, fixedText } from "@/format/numbers";

const yesOrNo = (value: boolean | null): string => (value === null ? NOTHING : value ? "yes" : "no");
const unique = (values: readonly (string | null | undefined)[]): string => [...new Set(values.filter(Boolean))].join(", ") || NOTHING;

/** The machine and software of a result, as rows of a table. */
export function environmentOf(result: BenchmarkDocument): [name: string, value: string][] {
  const { host, weather, cells } = result;
  const engines = [...new Set(cells.map((cell) => `${engineTitle(cell.engine)} ${cell.effective?.engine_version ?? ""}`.trim()))];
  return [
    ["CPU", `${host.cpu_model}, ${host.cpus_allowed.length} of ${host.cpus} CPUs`],
    ["Instruction sets", host.instruction_sets.join(", ") || NOTHING],
    ["Memory", bytes(host.memory_bytes)],
    ["Governor", host.governor ?? NOTHING],
    ["Boost", yesOrNo(host.boost)],
    ["Virtual machine", yesOrNo(host.hypervisor)],
    ["Container", host.container ?? NOTHING],
    ["NUMA nodes", host.numa_nodes === null ? NOTHING : String(host.numa_nodes)],
    ["System", `${host.system} ${host.kernel}, ${host.libc}`],
    ["Engines", engines.join(", ") || NOTHING],
    ["Threads", unique(cells.map((cell) => (cell.effective?.threads == null ? null : String(cell.effective.threads))))],
    ["Precision", unique(cells.map((cell) => cell.precision))],
    ["Providers", unique(cells.flatMap((cell) => cell.effective?.providers ?? []))],
    ["Sandbox", unique(cells.map((cell) => cell.sandbox))],
    ["Model sha256", result.model.sha256],
    ["Tool", `Modeldyno ${result.tool_version}, Python ${host.python}`],
    ["Load while measuring", weather.load_1m === null ? NOTHING : fixedText(weather.load_1m, 1)],
    ["Time that tasks waited for a CPU", weather.cpu_pressure === null ? NOTHING : percent(weather.cpu_pressure, 1)],
    ["Fingerprint", host.fingerprint],
  ];
}

/** Only what differs between two environments. */
export function differences(mine: BenchmarkDocument, theirs: BenchmarkDocument): { name: string; mine: string; theirs: string }[] {
  const other = new Map(environmentOf(theirs));
  const always = new Set(["Load while measuring", "Time that tasks waited for a CPU"]);
  return environmentOf(mine)
    .filter(([name, value]) => !always.has(name) && other.get(name) !== value)
    .map(([name, value]) => ({ name, mine: value, theirs: other.get(name) ?? NOTHING }));
}
