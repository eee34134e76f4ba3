import { bytes, plural } from "@/format/numbers";

/** "16 cores · 64 GB · AMD EPYC 7763", of what the server tells of its host. */
export function machineWords(host: Record<string, unknown>): string {
  const cores = Array.isArray(host.cpus_allowed) ? host.cpus_allowed.length : host.cpus;
  const gpus = Array.isArray(host.gpus) ? host.gpus.filter((name): name is string => typeof name === "string") : [];
  return [
    typeof cores === "number" && plural(cores, "core"),
    typeof host.memory_bytes === "number" && bytes(host.memory_bytes),
    typeof host.cpu_model === "string" && host.cpu_model,
    ...gpus,
  ]
    .filter(Boolean)
    .join(" · ");
}
