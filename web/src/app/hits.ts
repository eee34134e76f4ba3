/** Something that the palette leads to, or does. */
export type Hit = { id: string; group: string; label: string; more?: string; act: () => void };

/** The hits that contain every typed word. A match at the start of a word ranks higher; ties keep their order. */
export function hitsFor(typed: string, hits: readonly Hit[], most = 40): Hit[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = hits.flatMap((hit) => {
    const text = `${hit.label} ${hit.group} ${hit.more ?? ""}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) return [];
    const matchedPrefixes = words.filter((word) =>
      hit.label
        .toLowerCase()
        .split(/[\s·/_.-]+/)
        .some((part) => part.startsWith(word)),
    );
    return [{ hit, score: matchedPrefixes.length + Number(hit.label.toLowerCase().startsWith(words[0] ?? "")) }];
  });
  return ranked
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ hit }) => hit);
}
