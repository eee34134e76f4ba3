import type { ModelSummary } from "@/api/schema.gen";

export type Sorting = "new" | "name" | "size";

export function sortModels(models: readonly ModelSummary[], by: Sorting): ModelSummary[] {
  const rows = [...models];
  if (by === "name") return rows.sort((a, b) => a.name.localeCompare(b.name));
  if (by === "size") return rows.sort((a, b) => (b.size_bytes ?? -1) - (a.size_bytes ?? -1));
  return rows.sort((a, b) => b.id - a.id);
}

export const ORIGINS: Record<ModelSummary["origin"], string> = {
  path: "from a folder on the server",
  upload: "uploaded",
  example: "an example",
  optimization: "made by an optimization",
  conversion: "converted",
  terminal: "from the terminal",
};
