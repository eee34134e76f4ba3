"""Optimizations as a server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.documents.described import Described, Size
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead
from modeldyno.core.optimizations import OptimizationDetails
from modeldyno.core.tuning import OptimizationType, TuningSettings


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
    def of(cls, details: OptimizationDetails) -> OptimizationDocument:
        return cls.from_fields(
            details.optimization,
            settings=details.optimization.tuning,
            latest_run=LatestRunSummary.of(details.latest),
            optimized_model_id=details.made.id if details.made else None,
            pins=PinsDocument(**details.pins),
        )
