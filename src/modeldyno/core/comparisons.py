"""A comparison: two models or settings measured against each other, and every run it had."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.runs import RunSummary, State
from modeldyno.core.specs import ComparisonSpec


@dataclass(frozen=True, kw_only=True)
class NewComparison:
    project_id: ProjectId
    a_model_id: ModelId
    b_model_id: ModelId
    name: str
    spec: ComparisonSpec
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(NewComparison):
    id: ComparisonId
    created_at: datetime
    state: State = "draft"
    last_run_at: datetime | None = None
    summary: RunSummary = field(default_factory=RunSummary)
