// Written by scripts/write_page_tables.py from src/modeldyno/core/cell_axes.py. Do not edit: run `make types`.

export const AXES = [
  {"name": "engine", "field": "engines", "short": "engine", "label": "engine", "depth": 0, "usual": "", "kind": "word", "is_always_named": false, "column": "always", "is_of_sides": true},
  {"name": "device", "field": "devices", "short": "device", "label": "device", "depth": 1, "usual": "cpu", "kind": "word", "is_always_named": false, "column": "wanted", "is_of_sides": true},
  {"name": "precision", "field": "precisions", "short": "precision", "label": "precision", "depth": 2, "usual": null, "kind": "word", "is_always_named": false, "column": "wanted", "is_of_sides": true},
  {"name": "batch_size", "field": "batch_sizes", "short": "batch", "label": "batch size", "depth": 6, "usual": 1, "kind": "count", "is_always_named": true, "column": "always", "noun": "", "variety": "batch size", "title": "Batch sizes", "hint": "Items in one call", "place": "front", "capability": null, "needs_core_each": false, "is_of_sides": true, "most": 1000000},
  {"name": "cores", "field": "cores", "short": "cores", "label": "cores", "depth": 4, "usual": 1, "kind": "count", "is_always_named": true, "column": "always", "noun": "core", "variety": "core count", "title": "Core counts", "hint": "", "place": "front", "capability": null, "needs_core_each": false, "is_of_sides": true, "most": 1000000},
  {"name": "instances", "field": "instances", "short": "instances", "label": "instances", "depth": 3, "usual": 1, "kind": "count", "is_always_named": false, "column": "wanted", "noun": "instance", "variety": "instance count", "title": "Instances", "hint": "Processes side by side", "place": "single", "capability": null, "needs_core_each": false, "is_of_sides": false, "most": 256},
  {"name": "streams", "field": "streams", "short": "streams", "label": "streams", "depth": 5, "usual": 1, "kind": "count", "is_always_named": false, "column": "unusual", "noun": "stream", "variety": "stream count", "title": "Streams", "hint": "Requests at a time", "place": "front", "capability": "has_streams", "needs_core_each": true, "is_of_sides": true, "most": 1024},
] as const;
