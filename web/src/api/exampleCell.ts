import type { CellDocument, Figure } from "@/api/schema.gen";

/** For tests: a cell as it is before anything was measured. */
export const PLANNED: CellDocument = {
  number: 0,
  name: "",
  model: "m.onnx",
  engine: "onnxruntime",
  device: "cpu",
  precision: null,
  batch_size: 1,
  cores: 1,
  instances: 1,
  streams: 1,
  items: 1,
  status: null,
  error: null,
  notes: [],
  call_contract: "api",
  input_shapes: {},
  sandbox: null,
  effective: null,
  mismatches: [],
  surprises: [],
  parity: null,
  parity_to: null,
  latency_ms: null,
  throughput_per_s: null,
  interval_note: null,
  cpu_ms: null,
  device_ms: null,
  load_ms: null,
  first_inference_ms: null,
  peak_memory_bytes: null,
  peak_device_memory_bytes: null,
  memory_bytes: null,
  energy_j_per_item: null,
  energy_note: null,
  samples: 0,
  sessions: 0,
  processes: 0,
  warmup_calls: null,
  calls_per_sample: null,
  overhead_share: null,
  overhead_limited: null,
  preempted_share: null,
  stop_reason: null,
  contention: null,
  contention_source: null,
  noise: null,
  noise_reasons: [],
  steady: null,
  trend: null,
  cores_used: null,
  side_by_side: null,
};

/** For tests: with an interval of so large a share to both sides, over eight sessions. */
export const around = (value: number, share: number): Figure => ({ value, low: value * (1 - share), high: value * (1 + share), level: 0.95, of: "sessions", n: 8, needs: null });

/** For tests: a cell that was measured so quick. */
export function measuredCell(ms: number, share: number, more: Partial<CellDocument> = {}): CellDocument {
  const figure = around(ms, share);
  const latency = { typical: figure, floor: figure, mean: ms, stdev: null, min: ms, max: ms, p90: figure, p95: figure, p99: figure, outlier_share: 0 };
  const items = more.batch_size ?? 1;
  return { ...PLANNED, status: "done", items, latency_ms: latency, throughput_per_s: around((1000 * items) / ms, share), sessions: 8, samples: 80, noise: "quiet", ...more };
}
