/** "3,7": what is selected, in the order it was. */
export function selectedIn(text: string | undefined): number[] {
  return [
    ...new Set(
      (text ?? "")
        .split(",")
        .map(Number)
        .filter((id) => Number.isInteger(id) && id > 0),
    ),
  ];
}

export function selectionText(ids: readonly number[]): string | undefined {
  return ids.length > 0 ? ids.join(",") : undefined;
}

/** The address of a comparison: the first two, and whatever else is selected. */
export function compareSearch(ids: readonly number[]): { a?: string; b?: string; more?: string } {
  const [a, b, ...more] = ids.map(String);
  return { a, b, more: more.length > 0 ? more.join(",") : undefined };
}
