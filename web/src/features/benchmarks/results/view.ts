import type { Metric } from "@/api/figures";
import type { CellSelection } from "@/features/benchmarks/results/cells";

export const RESULT_TABS = ["baseline", "cores", "batches"] as const;
export type ResultTab = (typeof RESULT_TABS)[number];
export const TAB_WORDS: Record<ResultTab, string> = { baseline: "BASELINE", cores: "CORE SCALING", batches: "BATCH SIZE SCALING" };

/** The tabs of a benchmark's page: its results, and more. */
export const BENCHMARK_TABS = [...RESULT_TABS, "raw", "reproduce", "log"] as const;

/** The selected tab, metric and cell. */
export type ResultView = CellSelection & { tab: ResultTab; metric: Metric };
export type Change = (change: Partial<ResultView>) => void;
