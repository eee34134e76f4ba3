/** Which of the files dropped together is the model, and which are its weights. */

import { FORMATS } from "@/api/formats.gen";

const MODELS = [...new Set<string>(FORMATS.flatMap((format) => format.suffixes))];

/** What a file dialog offers first; the server looks into the content, whatever the name. */
export const ACCEPTED = [...MODELS, ".bin", ".data"].join(",");

type Named = { name: string };

export function modelAmong<T extends Named>(files: readonly T[]): T | undefined {
  for (const ending of MODELS) {
    const match = files.find((file) => file.name.toLowerCase().endsWith(ending));
    if (match) return match;
  }
  return files[0];
}

/** Weights go by the end of their path: a browser does not say which folder a file is in. */
export function weightsAmong<T extends Named>(files: readonly T[], missing: readonly string[]): [name: string, file: T][] {
  return missing.flatMap((name) => {
    const match = files.find((file) => file.name === name.split("/").pop());
    return match ? [[name, match] as [string, T]] : [];
  });
}

/** "resnet50.onnx" → "resnet50": a default name. */
export function nameFor(file: string): string {
  const base = file.split("/").pop() ?? file;
  return base.replace(/(?<=.)\.[a-z0-9]{1,8}$/i, "").slice(0, 100) || "Untitled";
}
