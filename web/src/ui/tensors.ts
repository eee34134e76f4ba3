import type { TensorDocument } from "@/api/schema.gen";

/** A size as text, and if it is a guess, why. */
export type Size = { text: string; guess: string | null };

/** Sizes of a tensor; null if even the rank is open. */
export function sizesOf(tensor: TensorDocument, isInput: boolean): Size[] | null {
  if (!tensor.shape) return null;
  return tensor.shape.map((size, index) => {
    if (typeof size === "number") return { text: String(size), guess: null };
    const text = size === null || size === "" ? "?" : size;
    if (!isInput) return { text, guess: null };
    return {
      text,
      guess:
        index === 0
          ? "The file leaves this size open. As the first dimension, it is taken as the batch size."
          : "The file leaves this size open. It is chosen when the model runs; benchmarks show which size was used.",
    };
  });
}

export function valuesOf(tensor: TensorDocument): Size | null {
  const range = tensor.indices;
  return range ? { text: `values ${range.low} … ${range.high - 1}`, guess: range.because } : null;
}
