import { linkOptions, type LinkProps } from "@tanstack/react-router";
import type { ComponentType } from "react";

import { EXTRA_KINDS } from "@/kinds/extra";

export type Kind = {
  title: string;
  /** The page of a runnable. */
  place: (project: number, id: number) => LinkProps;
  /** The tab of a project that is about them. */
  tab?: { path: string; label: string; isCounted: boolean };
  /** Shows a runnable at `/p/$pid/$kind/$id`: for kinds that have no routes of their own. */
  section?: ComponentType<{ pid: number; id: number }>;
};

/** All that the page knows of the kinds of runs. */
export const KINDS: Record<string, Kind> = {
  benchmark: {
    title: "Benchmark",
    place: (pid, bid) => linkOptions({ to: "/p/$pid/benchmarks/$bid", params: { pid, bid } }),
    tab: { path: "benchmarks", label: "Benchmarks", isCounted: true },
  },
  comparison: {
    title: "Comparison",
    place: (pid, comparison) => linkOptions({ to: "/p/$pid/compare", params: { pid }, search: { comparison } }),
    tab: { path: "compare", label: "Compare", isCounted: false },
  },
  optimization: { title: "Optimization", place: (pid) => linkOptions({ to: "/p/$pid", params: { pid } }) },
  profile: {
    title: "Profile",
    place: (pid, fid) => linkOptions({ to: "/p/$pid/profiles/$fid", params: { pid, fid } }),
    tab: { path: "profiles", label: "Profiles", isCounted: true },
  },
  ...EXTRA_KINDS,
};

/** A kind that is not in the table is titled by its name, and leads to its project. */
export function kindOf(name: string): Kind {
  return KINDS[name] ?? { title: name.charAt(0).toUpperCase() + name.slice(1), place: (pid) => linkOptions({ to: "/p/$pid", params: { pid } }) };
}
