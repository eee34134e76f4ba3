/** The first word of each key is what events invalidate. */
export const queryKeys = {
  /** Of a kind of runs: `benchmarks` of a benchmark. */
  kind: (kind: string) => [`${kind}s`] as const,
  projects: ["projects"] as const,
  models: ["models"] as const,
  benchmarks: ["benchmarks"] as const,
  comparisons: ["comparisons"] as const,
  judgements: ["judgements"] as const,
  profiles: ["profiles"] as const,
  runs: ["runs"] as const,
  jobs: ["jobs"] as const,
  notes: ["notes"] as const,
  engines: ["engines"] as const,
  system: ["system"] as const,
  doctor: ["doctor"] as const,
  session: ["session"] as const,
  examples: ["examples"] as const,
  files: ["files"] as const,
};
