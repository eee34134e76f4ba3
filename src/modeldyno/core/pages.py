"""A list, page by page: what is wanted, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from modeldyno.core.ids import ProjectId
from modeldyno.core.runs import State

T = TypeVar("T")

LARGEST_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Conditions are joined by "and"; what a list does not know, it refuses."""

    project_id: ProjectId | None = None
    engine: str | None = None
    state: State | None = None
    cell: dict[str, Any] = field(default_factory=dict)  # what one of its cells has, by axis
    text: str = ""  # a part of the name, in any case
    since: datetime | None = None  # created then or later
    until: datetime | None = None  # created before
    sort: str = "created"
    descending: bool = True
    limit: int = 20
    cursor: str | None = None  # ``Page.next`` of the page before


@dataclass(frozen=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next: str | None = None  # None: that was all
