"""A cell as ``GET /api/v1/benchmark/{model_name}`` tells it: the public JSON of every cell, and the
names that clients of older endpoints of that kind look for."""

from __future__ import annotations

import re
from typing import Any

from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.results import CellResult, Latency

FEWEST_FOR_MEDIAN = 6  # for an interval around it: see measure/tails.py
_DIM = re.compile(r"--dim (\S+=\S+(?: \S+=…)*)")
_DECIMALS = 6  # of milliseconds: the clock counts nanoseconds
# Told under another name, or elsewhere in the answer.
_LEFT_OUT = (
    "number",
    "name",
    "model",
    "status",
    "error",
    "notes",
    "parity",
    "parity_to",
    "mismatches",
)


def named_cell_json(cell: CellResult, framework: str) -> dict[str, Any]:
    """Of one that was measured. Every figure is of a call with a whole batch, but throughput,
    which counts samples."""
    found = cell.measurement
    assert found is not None
    latency, facts = found.latency, cell.facts
    shapes = [list(shape) for shape in cell.input_shapes.values()]
    document = json_value(CellDocument.of(0, cell))
    document |= document.pop("effective") or {}
    public = {name: value for name, value in document.items() if name not in _LEFT_OUT}
    return {
        "status": "success",
        "framework": framework,
        "avg_inference_time_ms": _ms(latency.mean_s),
        "throughput_samples_per_sec": round(found.throughput_per_s, _DECIMALS),
        "input_shape": shapes[0] if shapes else None,
        "parameters": facts.parameters if facts else None,
        "iterations": found.samples,
        "warmup": found.warmup_calls,
        **percentiles(latency, found.samples),
        "min_ms": _ms(latency.min_s),
        "max_ms": _ms(latency.largest_s),
        "std_ms": _ms(latency.stdev_s),
        **public,
        "energy_note": found.energy_note,
        "device": cell.spec.device,
        "effective_device": public["device"],
        "note": _in_the_query("; ".join(cell.notes) or None),
    }


def percentiles(latency: Latency, samples: int) -> dict[str, Any]:
    """Null where so few samples cannot tell, with how many it takes."""
    needed = {f"p{t.quantile * 100:g}": t.samples_needed for t in (latency.p95, latency.p99)}
    needed["p50"] = FEWEST_FOR_MEDIAN if samples < FEWEST_FOR_MEDIAN else None
    lacking = sorted((number, name) for name, number in needed.items() if number is not None)
    note = ", ".join(f"{name} needs {number} iterations" for number, name in lacking)
    return {
        "p50_ms": None if needed["p50"] else _ms(latency.typical.value),
        "p95_ms": _ms(latency.p95.value),
        "p99_ms": _ms(latency.p99.value),
        "percentiles_note": f"{note}; there were {samples}" if note else None,
    }


def _in_the_query(note: str | None) -> str | None:
    """How to choose a size here: ``--dim`` is the terminal's."""
    return note and _DIM.sub(lambda said: "dim=" + said[1].replace(" ", ","), note)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, _DECIMALS)
