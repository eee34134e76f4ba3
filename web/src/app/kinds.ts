import { linkOptions, type LinkProps } from "@tanstack/react-router";

type Kind = { title: string; place: (project: number, id: number) => LinkProps };

/** What the page knows of each kind of runs: its name, and where one of them is shown. */
export const KINDS: Record<string, Kind> = {
  benchmark: { title: "Benchmark", place: (pid, bid) => linkOptions({ to: "/p/$pid/benchmarks/$bid", params: { pid, bid } }) },
  comparison: { title: "Comparison", place: (pid, comparison) => linkOptions({ to: "/p/$pid/compare", params: { pid }, search: { comparison } }) },
  optimization: { title: "Optimization", place: (pid) => linkOptions({ to: "/p/$pid", params: { pid } }) },
  profile: { title: "Profile", place: (pid, fid) => linkOptions({ to: "/p/$pid/profiles/$fid", params: { pid, fid } }) },
};

/** One that the page has no section for goes by its own word, and is shown with its project. */
export function kindOf(name: string): Kind {
  return KINDS[name] ?? { title: name.charAt(0).toUpperCase() + name.slice(1), place: (pid) => linkOptions({ to: "/p/$pid", params: { pid } }) };
}
