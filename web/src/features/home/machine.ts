import type { HealthDocument, MachineDocument } from "@/api/parts";
import { bytes, plural } from "@/format/numbers";

/** "16 cores · 64 GB · AMD EPYC 7763" */
export function machineWords(machine: MachineDocument): string {
  return [plural(machine.cpus_allowed, "core"), bytes(machine.memory_bytes), machine.cpu_model].filter(Boolean).join(" · ");
}

export const FITNESS: Record<HealthDocument["verdict"], { sign: string; color: string }> = {
  fit: { sign: "✓", color: "green" },
  "fit with care": { sign: "≈", color: "yellow" },
  unfit: { sign: "!", color: "orange" },
};

/** "governor performance, load 0.1": what most often spoils numbers. */
export function healthWords(health: HealthDocument): string {
  return [health.governor && `governor ${health.governor}`, health.load_1m !== null && `load ${health.load_1m.toFixed(1)}`].filter(Boolean).join(", ");
}
