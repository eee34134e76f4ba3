// Written by scripts/write_page_tables.py from src/modeldyno/core/documents/cells.py. Do not edit: run `make types`.

export const FIGURES = [
  {"name": "throughput_per_s", "head": "items/s", "label": "items per second", "format": "rate", "unit": "items/s", "in_tables": true, "in_lists": "always", "is_among_first": true, "on_card": false},
  {"name": "cpu_ms", "head": "cpu", "label": "CPU time per call", "format": "time", "unit": "", "in_tables": true, "in_lists": "never", "is_among_first": false, "on_card": false},
  {"name": "load_ms", "head": "load", "label": "Load time", "format": "time", "unit": "", "in_tables": false, "in_lists": "never", "is_among_first": false, "on_card": false},
  {"name": "first_inference_ms", "head": "first call", "label": "First inference", "format": "time", "unit": "", "in_tables": false, "in_lists": "never", "is_among_first": false, "on_card": false},
  {"name": "peak_memory_bytes", "head": "peak mem", "label": "Peak memory", "format": "bytes", "unit": "", "in_tables": true, "in_lists": "wanted", "is_among_first": true, "on_card": false},
  {"name": "samples", "head": "samples", "label": "Samples", "format": "count", "unit": "", "in_tables": false, "in_lists": "never", "is_among_first": false, "on_card": false},
  {"name": "sessions", "head": "sessions", "label": "n (sessions)", "format": "count", "unit": "", "in_tables": false, "in_lists": "wanted", "is_among_first": true, "on_card": false},
  {"name": "contention", "head": "contention", "label": "Contention", "format": "amount", "unit": "", "in_tables": false, "in_lists": "never", "is_among_first": false, "on_card": false},
  {"name": "page_faults", "head": "faults", "label": "Page faults per call", "format": "amount", "unit": "", "in_tables": true, "in_lists": "wanted", "is_among_first": false, "on_card": true},
  {"name": "machine_speed", "head": "speed", "label": "Speed of the machine", "format": "share", "unit": "", "in_tables": false, "in_lists": "never", "is_among_first": false, "on_card": false},
  {"name": "tokens_per_s", "head": "tokens/s", "label": "tokens per second", "format": "rate", "unit": "tokens/s", "in_tables": true, "in_lists": "never", "is_among_first": false, "on_card": true},
  {"name": "time_to_first_token_ms", "head": "first token", "label": "time to first token", "format": "time", "unit": "", "in_tables": true, "in_lists": "never", "is_among_first": false, "on_card": true},
] as const;
