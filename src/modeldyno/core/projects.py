"""A project: models and what was done with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.documents.described import Described
from modeldyno.core.ids import BenchmarkId, ProjectId


@dataclass(frozen=True, kw_only=True)
class Project(Described):
    """Models that belong together, and what was done with them."""

    id: ProjectId
    """Its number."""
    name: str
    """Need not be unique."""
    created_at: datetime
    """In UTC."""
    modified_at: datetime | None = None
    """When it was changed."""
    is_draft: bool = False
    """Under way: not listed before somebody names it."""
    baseline_benchmark_id: BenchmarkId | None = None
    """The benchmark that the others are held against."""
