"""A cell as ``GET /api/v1/benchmark/{model_name}`` tells it: the public JSON of every cell, and the
names that clients of older endpoints of that kind look for."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.documents.latency import LatencyDocument
from modeldyno.core.ids import BenchmarkId, JobId, RunId

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


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlace:
    """What the answer says besides the cell: whose it is, and how it was asked for."""

    framework: str  # the engine, as its makers write it
    device: str  # as requested
    parameters: int | None
    model_name: str
    model_path: str
    run_id: RunId
    benchmark_id: BenchmarkId
    job_id: JobId


def named_cell_json(cell: CellDocument, place: NamedPlace) -> dict[str, Any]:
    """Of one that was measured. Every figure is of a call with a whole batch, but throughput,
    which counts samples."""
    latency, throughput = cell.latency_ms, cell.throughput_per_s
    assert latency is not None
    assert throughput is not None
    shapes = [list(shape) for shape in cell.input_shapes.values()]
    document = json_value(cell)
    document |= document.pop("effective") or {}
    public = {name: value for name, value in document.items() if name not in _LEFT_OUT}
    return {
        "status": "success",
        "avg_inference_time_ms": _rounded(latency.mean),
        "throughput_samples_per_sec": _rounded(throughput.value),
        "input_shape": shapes[0] if shapes else None,
        "iterations": cell.samples,
        "warmup": cell.warmup_calls,
        **percentiles(latency, cell.samples),
        "min_ms": _rounded(latency.min),
        "max_ms": _rounded(latency.max),
        "std_ms": _rounded(latency.stdev),
        **public,
        **asdict(place),
        "energy_note": cell.energy_note or "",
        "effective_device": public["device"],
        "note": _in_the_query("; ".join(cell.notes) or None),
    }


def percentiles(latency: LatencyDocument, samples: int) -> dict[str, Any]:
    """Null where so few samples cannot tell, with how many it takes."""
    needed = {"p95": latency.p95.needs, "p99": latency.p99.needs}
    needed["p50"] = FEWEST_FOR_MEDIAN if samples < FEWEST_FOR_MEDIAN else None
    lacking = sorted((number, name) for name, number in needed.items() if number is not None)
    note = ", ".join(f"{name} needs {number} iterations" for number, name in lacking)
    return {
        "p50_ms": None if needed["p50"] else _rounded(latency.typical.value),
        "p95_ms": _rounded(latency.p95.value),
        "p99_ms": _rounded(latency.p99.value),
        "percentiles_note": f"{note}; there were {samples}" if note else None,
    }


def _in_the_query(note: str | None) -> str | None:
    """How to choose a size here: ``--dim`` is the terminal's."""
    return note and _DIM.sub(lambda said: "dim=" + said[1].replace(" ", ","), note)


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, _DECIMALS)
