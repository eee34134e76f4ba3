"""An optimization: from one model to better ones, by trials; and what is pinned to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, OptimizationId, ProjectId, RunId
from modeldyno.core.runs import Runnable

OptimizationType = Literal["quantization", "graph", "mixed-precision"]
TrialStatus = Literal["done", "failed"]
PinKind = Literal["accuracy", "performance"]

# What each can aim at; where several types fit a precision, the last one is meant unless one is
# named: who asks for bfloat16 wants it in the weights.
PRECISIONS: dict[OptimizationType, tuple[str, ...]] = {
    "quantization": ("int8", "int8 static quantization", "int8 dynamic quantization"),
    "graph": ("fp32", "bf16"),
    "mixed-precision": ("bf16", "fp16"),
}


def types_for(precision: str) -> tuple[OptimizationType, ...]:
    return tuple(type for type, precisions in PRECISIONS.items() if precision in precisions)


@dataclass(frozen=True, kw_only=True)
class NewOptimization:
    project_id: ProjectId
    model_id: ModelId  # what it starts from
    name: str
    type: OptimizationType
    precision: str
    dataset_id: DatasetId | None = None  # for calibration and accuracy
    settings: dict[str, Any] = field(default_factory=dict)  # batch and sampling size, strategy …


@dataclass(frozen=True, kw_only=True)
class Optimization(Runnable, NewOptimization):
    id: OptimizationId
    modified_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One candidate of a run; its model stays when the optimization goes."""

    run_id: RunId
    number: int
    status: TrialStatus
    created_at: datetime
    settings: dict[str, Any] = field(default_factory=dict)
    model_id: ModelId | None = None
    accuracy: float | None = None
    typical_s: float | None = None
    size_bytes: int | None = None
    is_best: bool = False
    failure: dict[str, str] | None = None


@dataclass(frozen=True)
class Pin:
    """The benchmark that speaks for an optimization's accuracy, or for its performance."""

    optimization_id: OptimizationId
    kind: PinKind
    benchmark_id: BenchmarkId
