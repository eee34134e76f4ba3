import type { BenchmarkTold, SummaryTold } from "@/api/schema.gen";

export type State = BenchmarkTold["state"];
export type Noise = NonNullable<SummaryTold["noise"]>;
