"""Optimizations: better versions of a model, found by trials, and the benchmarks pinned to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from modeldyno.core.documents.described import Described, Size
from modeldyno.core.documents.runnables import LatestRunSummary, NumbersOf, RunnableHead
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, OptimizationId, ProjectId, RunId
from modeldyno.core.models import Model
from modeldyno.core.optimization_settings import OptimizationType, TuningSettings, tuning_of
from modeldyno.core.runs import LatestRun, Runnable

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PinsDocument(Described):
    """Benchmarks that speak for an optimization."""

    accuracy: Size | None = None
    """Number of the benchmark that measures it."""
    performance: Size | None = None
    """Number of the benchmark that measures it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizationDocument(RunnableHead):
    """An optimization: its settings, its latest run, and what it made."""

    model_id: Size
    """What it starts from."""
    type: OptimizationType
    """What is done to the model."""
    precision: str
    """What it is to compute in."""
    dataset_id: Size | None
    """To calibrate with, and to measure accuracy."""
    settings: TuningSettings
    """How it looks for a better model."""
    modified_at: datetime | None
    """When it was changed."""
    latest_run: LatestRunSummary | None
    """Null before the first."""
    optimized_model_id: Size | None
    """The best that it made."""
    pins: PinsDocument
    """Benchmarks that speak for it."""

    @classmethod
    def of(cls, details: OptimizationDetails, numbers_of: NumbersOf) -> OptimizationDocument:
        return cls.from_fields(
            details.optimization,
            settings=details.optimization.tuning,
            latest_run=LatestRunSummary.of(details.latest, numbers_of),
            optimized_model_id=details.made.id if details.made else None,
            pins=PinsDocument(**details.pins),
        )
