import type { BenchmarkLineTold, SummaryTold } from "@/api/schema.gen";

export type State = BenchmarkLineTold["state"];
export type Noise = NonNullable<SummaryTold["noise"]>;
