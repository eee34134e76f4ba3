"""Projects."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import func, select

from modeldyno.core.ids import BenchmarkId, ProjectId
from modeldyno.core.kinds import kept_kinds
from modeldyno.core.names import checked_name
from modeldyno.core.projects import Project
from modeldyno.core.runs import ListQuery, Page
from modeldyno.store.pages import Sorting, filter_by_date, filter_by_name, read_page, refuse_filters
from modeldyno.store.records.named import NamedRecords
from modeldyno.store.records.rows import (
    dataclass_from_row,
    is_of_kind_sql,
    name_to_columns,
    require_in_project,
)
from modeldyno.store.tables import PROJECTS, RUNNABLES, THINGS

_OLDEST_FIRST = select(PROJECTS).order_by(PROJECTS.c.id)
_FIELDS = tuple(field.name for field in fields(Project))
_LISTED = select(*(PROJECTS.c[name] for name in _FIELDS)).where(~PROJECTS.c.is_draft)
_COUNT = select(func.count()).select_from(PROJECTS).where(~PROJECTS.c.is_draft)


class ProjectRecords(NamedRecords[Project]):
    kind = "project"
    sortings: ClassVar = {
        "created": Sorting(PROJECTS.c.created_at),
        "name": Sorting(PROJECTS.c.name_key),
    }

    def add(self, name: str, *, is_draft: bool = False) -> Project:
        return self._insert({"name": name, "is_draft": is_draft})

    def named(self, name: str) -> Project | None:
        """The first project with exactly this name."""
        row = self._fetch_first(_OLDEST_FIRST.where(PROJECTS.c.name == checked_name(name)))
        return self._from_row(row) if row else None

    def rename(self, number: int, name: str) -> Project:
        """A draft that gets a name is a draft no longer."""
        return self._update(number, {**name_to_columns(name), "is_draft": False})

    def set_baseline(self, number: ProjectId, benchmark_id: BenchmarkId | None) -> Project:
        """Raises BadValue if the benchmark belongs to another project."""
        with self._database.writing() as connection:
            require_in_project(connection, number, benchmark=benchmark_id)
            return self._update(number, {"baseline_benchmark_id": benchmark_id})

    def mark_as_used(self, number: ProjectId) -> Project:
        """Mark the project as modified now."""
        return self._update(number, {})

    def drafts(self, before: datetime) -> tuple[Project, ...]:
        """Drafts created before that moment and never named."""
        query = _OLDEST_FIRST.where(PROJECTS.c.is_draft, PROJECTS.c.created_at < before)
        return tuple(map(self._from_row, self._fetch_all(query)))

    def page(self, list_query: ListQuery | None = None) -> Page[Project]:
        """Without drafts."""
        list_query = list_query or ListQuery()
        refuse_filters(list_query, "engine", "state", "project_id")
        query = filter_by_name(
            filter_by_date(_LISTED, list_query, PROJECTS.c.created_at),
            list_query,
            PROJECTS.c.name_key,
        )
        with self._database.reading() as connection:
            return read_page(
                connection,
                query,
                list_query,
                self.sortings,
                PROJECTS.c.id,
                _project_from_row,
                is_constant=True,
            )

    def count(self) -> int:
        """Drafts are not counted."""
        with self._database.reading() as connection:
            return connection.scalar(_COUNT) or 0

    def counts(self, number: ProjectId) -> dict[str, int]:
        """How many of each kind of thing the project has, in one query."""
        counts = {
            kind: select(func.count()).select_from(table).where(table.c.project_id == number)
            for kind, table in THINGS.items()
            if kind != "project"
        }
        runnables = select(func.count()).where(RUNNABLES.c.project_id == number)
        counts |= {kind: runnables.where(is_of_kind_sql(kind)) for kind in kept_kinds()}
        row = self._fetch_first(select(*(query.scalar_subquery() for query in counts.values())))
        return dict(zip(counts, row, strict=True))

    def _from_row(self, row: Any) -> Project:
        return dataclass_from_row(Project, row)


def _project_from_row(row: Any) -> Project:
    """By position, which is faster than ``dataclass_from_row``."""
    return Project(**dict(zip(_FIELDS, row, strict=False)))
