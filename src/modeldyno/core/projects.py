"""A project: models and what was done with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.ids import BenchmarkId, ProjectId


@dataclass(frozen=True, kw_only=True)
class Project:
    id: ProjectId
    name: str  # need not be unique
    created_at: datetime
    modified_at: datetime | None = None
    is_draft: bool = False  # under way: not listed before somebody names it
    baseline_benchmark_id: BenchmarkId | None = None  # that the others are held against
