import type { BenchmarkRowTold, SummaryDocument } from "@/api/schema.gen";

export type State = BenchmarkRowTold["state"];
export type Noise = NonNullable<SummaryDocument["noise"]>;
