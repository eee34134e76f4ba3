"""Answers of ``GET /api/v1/benchmark/{model_name}``, which have a shape of their own: clients of
such endpoints read ``status`` and ``message``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from modeldyno.core.documents.described import Amount, Count, Described, RunName, Size
from modeldyno.core.results import Noise

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
