"""An optimization: from one model to better ones, by trials; and what is pinned to it."""

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
    settings: dict[str, Any] = field(default_factory=dict)  # those of TuningSettings that were said

    @property
    def tuning(self) -> TuningSettings:
        """With what is usual for the rest."""
        return tuning_of(self.settings)


@dataclass(frozen=True, kw_only=True)
class Optimization(Runnable, NewOptimization):
    id: OptimizationId
    modified_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class OptimizationDetails:
    """All that a line of a list, or a page, shows of one."""

    optimization: Optimization
    dataset_name: str | None
    latest: LatestRun | None
    made: Model | None  # the best of its latest run that has one
    pins: dict[PinKind, BenchmarkId]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One candidate of a run; its model stays when the optimization goes."""

    run_id: RunId
    number: int  # 0: the model itself, which all others are held against
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
