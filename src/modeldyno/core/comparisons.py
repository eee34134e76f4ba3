"""A comparison: two models or settings measured against each other, and every run it had."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.runs import LatestRun, Runnable
from modeldyno.core.specs import ComparisonSpec


@dataclass(frozen=True, kw_only=True)
class NewComparison:
    project_id: ProjectId
    a_model_id: ModelId
    b_model_id: ModelId
    name: str
    spec: ComparisonSpec
    rerun_of: ComparisonId | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(Runnable, NewComparison):
    id: ComparisonId


@dataclass(frozen=True)
class ComparisonDetails:
    comparison: Comparison
    a_model_name: str
    b_model_name: str
    latest: LatestRun | None
