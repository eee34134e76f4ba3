"""Answers of ``GET /api/v1/benchmark/{model_name}``, which have a shape of their own: clients of
such endpoints read ``status`` and ``message``. What was measured is the public JSON of its cell,
and the names that clients of older endpoints of that kind look for."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.described import Amount, Count, Described, RunName, Size, json_value
from modeldyno.core.documents.figures import LatencyDocument
from modeldyno.core.ids import BenchmarkId, JobId, RunId
from modeldyno.core.results import Noise

FEWEST_FOR_MEDIAN = 6  # for an interval around it: see measure/tails.py
_DIM = re.compile(r"--dim (\S+=\S+(?: \S+=…)*)")
_DECIMALS = 6  # of milliseconds: the clock counts nanoseconds
# Under another name, or elsewhere in the answer.
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
_WITH_MORE: dict[str, Any] = {**Described.__pydantic_config__, "extra": "allow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredByNameDocument(Described):
    """One device. There is more in it: all that `cells[]` of a run's result has."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _WITH_MORE

    status: Literal["success"]
    """What tells it from a refusal."""
    framework: str
    """The engine, as its makers write it."""
    avg_inference_time_ms: Amount
    """Mean of all calls."""
    throughput_samples_per_sec: Amount
    """Samples, not calls."""
    input_shape: tuple[int, ...] | None
    """Of the first input, as it was fed; `input_shapes` has all."""
    providers: tuple[str, ...]
    """In effect, not requested."""
    parameters: Count | None
    """Of the model; null if neither file nor engine says."""
    iterations: Size
    """Calls that were timed."""
    device: str
    """As requested."""
    effective_device: str
    """As the engine says."""
    model_name: str
    """Of its file."""
    model_path: str
    """In the workspace; `models/12` is model 12 of a project."""
    engine: str
    """By name."""
    precision: str | None
    """Of its kernels."""
    batch_size: Size
    """As it really ran."""
    cores: Size
    """CPU cores."""
    warmup: Count
    """Calls before those that count."""
    p50_ms: Amount | None
    """Null if there were too few iterations."""
    p95_ms: Amount | None
    """Null if there were too few iterations."""
    p99_ms: Amount | None
    """Null if there were too few iterations."""
    percentiles_note: str | None
    """How many iterations it takes for those that are null."""
    min_ms: Amount
    """The shortest call."""
    max_ms: Amount
    """The longest call."""
    std_ms: Amount | None
    """Standard deviation."""
    energy_j_per_item: Amount | None
    """Null if nothing meters it."""
    energy_note: str
    """What was metered, or why nothing was."""
    noise: Noise
    """How far to trust it."""
    run_id: RunName
    """Every sample is at /api/v1/runs/{run_id}/samples."""
    benchmark_id: Size
    """Number of the benchmark."""
    job_id: Size
    """Number of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasuredByNameDocument(Described):
    """One device of several, and why it was not measured."""

    status: Literal["error"]
    """What tells it from a measurement."""
    device: str
    """As requested."""
    message: str
    """What went wrong."""
    code: str
    """Stable: programs may rely on it."""
    detail: str
    """Why."""
    fix: str
    """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOnDevicesDocument(Described):
    """Of a list of devices: at least one was measured."""

    status: Literal["success"]
    """What tells it from a refusal."""
    model_name: str
    """Of its file."""
    model_path: str
    """In the workspace."""
    iterations: Size
    """Calls that were timed."""
    results: tuple[MeasuredByNameDocument | NotMeasuredByNameDocument, ...]
    """In the order of the devices."""
    available_devices: tuple[str, ...]
    """By name."""
    unavailable_devices: dict[str, str]
    """And why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedByNameDocument(Described):
    """What went wrong, why, and what to do."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _WITH_MORE

    status: Literal["error"]
    """What tells it from a measurement."""
    message: str
    """What went wrong."""
    code: str
    """Stable: programs may rely on it."""
    detail: str
    """Why."""
    fix: str
    """What to do about it."""
    available_devices: tuple[str, ...]
    """By name."""
    unavailable_devices: dict[str, str]
    """And why."""


# ---------------------------------------------------------------- of a cell


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlace:
    """What the answer says besides the cell: whose it is, and how it was requested."""

    framework: str  # the engine, as its makers write it
    device: str  # as requested
    parameters: int | None
    model_name: str
    model_path: str
    run_id: RunId
    benchmark_id: BenchmarkId
    job_id: JobId


def measured_by_name(cell: CellDocument, place: NamedPlace) -> dict[str, Any]:
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
        "avg_inference_time_ms": _round_figure(latency.mean),
        "throughput_samples_per_sec": _round_figure(throughput.value),
        "input_shape": shapes[0] if shapes else None,
        "iterations": cell.samples,
        "warmup": cell.warmup_calls,
        **percentiles(latency, cell.samples),
        "min_ms": _round_figure(latency.min),
        "max_ms": _round_figure(latency.max),
        "std_ms": _round_figure(latency.stdev),
        **public,
        **asdict(place),
        "energy_note": cell.energy_note or "",
        "effective_device": public["device"],
        "note": _reword_for_query("; ".join(cell.notes) or None),
    }


def percentiles(latency: LatencyDocument, samples: int) -> dict[str, Any]:
    """Null where so few samples cannot tell, with how many it takes."""
    needed = {"p95": latency.p95.needs, "p99": latency.p99.needs}
    needed["p50"] = FEWEST_FOR_MEDIAN if samples < FEWEST_FOR_MEDIAN else None
    lacking = sorted((number, name) for name, number in needed.items() if number is not None)
    note = ", ".join(f"{name} needs {number} iterations" for number, name in lacking)
    return {
        "p50_ms": None if needed["p50"] else _round_figure(latency.typical.value),
        "p95_ms": _round_figure(latency.p95.value),
        "p99_ms": _round_figure(latency.p99.value),
        "percentiles_note": f"{note}; there were {samples}" if note else None,
    }


def _reword_for_query(note: str | None) -> str | None:
    """How to choose a size here: ``--dim`` is the terminal's."""
    return note and _DIM.sub(lambda match: "dim=" + match[1].replace(" ", ","), note)


def _round_figure(figure: float | None) -> float | None:
    return None if figure is None else round(figure, _DECIMALS)
