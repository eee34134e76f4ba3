import type { BenchmarkRowTold, SummaryTold } from "@/api/schema.gen";

export type State = BenchmarkRowTold["state"];
export type Noise = NonNullable<SummaryTold["noise"]>;
