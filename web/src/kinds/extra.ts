import type { Kind } from "@/kinds/kinds";

/** Kinds that an installation adds: `scripts/build_web.py --kinds FILE` builds the page with FILE in place of this one. */
export const EXTRA_KINDS: Record<string, Kind> = {};
