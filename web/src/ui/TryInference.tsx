import type { ModelDetails } from "@/api/schema.gen";

export function TryInference({ model }: { model: ModelDetails }) {
  return model.state === "ready" ? null : null;
}
