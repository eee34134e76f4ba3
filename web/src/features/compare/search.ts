import type { compare } from "@/app/search";

/** What the address says. */
export type Chosen = ReturnType<typeof compare>;
export type Change = (more: Chosen) => void;
