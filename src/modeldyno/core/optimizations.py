"""Optimizations: better versions of a model, found by trials, and the benchmarks pinned to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, OptimizationId, ProjectId, RunId
from modeldyno.core.models import Model
from modeldyno.core.runs import LatestRun, Runnable
from modeldyno.core.tuning import OptimizationType, TuningSettings, tuning_of

TrialStatus = Literal["done", "failed"]
PinKind = Literal["accuracy", "performance"]


@dataclass(frozen=True, kw_only=True)
class NewOptimization:
    project_id: ProjectId
    model_id: ModelId  # what it starts from
    name: str
    type: OptimizationType
    precision: str
    dataset_id: DatasetId | None = None  # for calibration and accuracy
    settings: dict[str, Any] = field(default_factory=dict)  # those given of TuningSettings

    @property
    def tuning(self) -> TuningSettings:
        """The settings, completed with defaults."""
        return tuning_of(self.settings)


@dataclass(frozen=True, kw_only=True)
class Optimization(Runnable, NewOptimization):
    id: OptimizationId
    modified_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class OptimizationDetails:
    """What lists and pages show of an optimization."""

    optimization: Optimization
    dataset_name: str | None
    latest: LatestRun | None
    made: Model | None  # the best model of its latest run with one
    pins: dict[PinKind, BenchmarkId]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A candidate of a run; its model stays when the optimization is deleted."""

    run_id: RunId
    number: int  # 0: the source model, which the others are compared with
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
    """The benchmark that represents an optimization's accuracy or performance."""

    optimization_id: OptimizationId
    kind: PinKind
    benchmark_id: BenchmarkId
