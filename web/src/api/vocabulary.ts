import type { BenchmarkSummary, SummaryDocument } from "@/api/schema.gen";

export type State = BenchmarkSummary["state"];
export type Noise = NonNullable<SummaryDocument["noise"]>;
