import type { EngineDocument } from "@/api/parts";

type NamedEngine = Pick<EngineDocument, "name" | "title" | "color">;

/** As the server gave them when the page opened; `Shell` shows nothing that names an engine before. */
let engines: ReadonlyMap<string, NamedEngine> = new Map();

export function rememberEngines(documents: readonly NamedEngine[]): void {
  engines = new Map(documents.map((engine) => [engine.name, engine]));
}

/** "ONNX Runtime"; the bare name of an engine that is no longer installed. */
export const engineTitle = (name: string): string => engines.get(name)?.title ?? name;

/** Its place among the colours of charts: every chart draws an engine in the same one. */
export const engineColor = (name: string): number => engines.get(name)?.color ?? engines.size;
