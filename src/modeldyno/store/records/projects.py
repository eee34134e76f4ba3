"""Projects."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from modeldyno.core.ids import BenchmarkId, ProjectId
from modeldyno.core.kinds import kept_kinds
from modeldyno.core.names import checked_name, search_key
from modeldyno.core.projects import Project
from modeldyno.core.runs import Page, Wanted
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.pages import Sorting, dated, named, page_of, refuse
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import (
    Clock,
    find_row,
    is_of_kind,
    require_in_project,
    utc_now,
    value_of,
)
from modeldyno.store.tables import PROJECTS, RUNNABLES, THINGS

_SORTINGS = {"created": Sorting(PROJECTS.c.created_at), "name": Sorting(PROJECTS.c.name_key)}
_LIST = select(PROJECTS)
_LISTED = select(*(PROJECTS.c[field.name] for field in fields(Project))).where(~PROJECTS.c.is_draft)


class ProjectRecords:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, name: str, *, is_draft: bool = False) -> Project:
        name = checked_name(name)
        now = self._clock()
        row: dict[str, Any] = {"name": name, "name_key": search_key(name), "created_at": now}
        row["is_draft"] = is_draft
        with self._database.writing() as connection:
            number = connection.scalar(insert(PROJECTS).values(row).returning(PROJECTS.c.id))
            add_event(connection, "project.created", number, {"id": number}, now)
            return value_of(Project, find_row(connection, "project", number or 0))

    def get(self, number: ProjectId) -> Project:
        with self._database.reading() as connection:
            return value_of(Project, find_row(connection, "project", number))

    def named(self, name: str) -> Project | None:
        """The first one that is called exactly so."""
        name = checked_name(name)
        query = _LIST.where(PROJECTS.c.name == name).order_by(PROJECTS.c.id).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return value_of(Project, row) if row else None

    def rename(self, number: ProjectId, name: str) -> Project:
        """A draft is none any more."""
        name = checked_name(name)
        return self._change(number, {"name": name, "name_key": search_key(name), "is_draft": False})

    def set_baseline(self, number: ProjectId, benchmark_id: BenchmarkId | None) -> Project:
        """Raises BadValue when the benchmark belongs to another project."""
        with self._database.writing() as connection:
            require_in_project(connection, number, benchmark=benchmark_id)
            return self._change(number, {"baseline_benchmark_id": benchmark_id})

    def _change(self, number: ProjectId, values: dict[str, Any]) -> Project:
        now = self._clock()
        with self._database.writing() as connection:
            find_row(connection, "project", number)
            changed = values | {"modified_at": now}
            connection.execute(update(PROJECTS).where(PROJECTS.c.id == number).values(changed))
            add_event(connection, "project.changed", number, {"id": number}, now)
            return value_of(Project, find_row(connection, "project", number))

    def touch(self, number: ProjectId) -> Project:
        """Something that belongs to the project itself was changed just now."""
        return self._change(number, {})

    def drafts(self, before: datetime) -> tuple[Project, ...]:
        """Begun before that moment, and never named."""
        query = _LIST.where(PROJECTS.c.is_draft, PROJECTS.c.created_at < before).order_by(
            PROJECTS.c.id
        )
        with self._database.reading() as connection:
            return tuple(value_of(Project, row) for row in connection.execute(query))

    def page(self, wanted: Wanted | None = None) -> Page[Project]:
        """Without drafts."""
        wanted = wanted or Wanted()
        refuse(wanted, "engine", "state", "project_id")
        query = named(dated(_LISTED, wanted, PROJECTS.c.created_at), wanted, PROJECTS.c.name_key)
        with self._database.reading() as connection:
            return page_of(
                connection, query, wanted, _SORTINGS, PROJECTS.c.id, _listed, is_constant=True
            )

    def count(self) -> int:
        with self._database.reading() as connection:
            listed = select(func.count()).select_from(PROJECTS).where(~PROJECTS.c.is_draft)
            return connection.scalar(listed) or 0

    def counts(self, number: ProjectId) -> dict[str, int]:
        """How many of each kind of thing it has, in one query."""
        counts = {
            kind: select(func.count()).select_from(table).where(table.c.project_id == number)
            for kind, table in THINGS.items()
            if kind != "project"
        }
        mine = select(func.count()).where(RUNNABLES.c.project_id == number)
        counts |= {kind: mine.where(is_of_kind(kind)) for kind in kept_kinds()}
        with self._database.reading() as connection:
            columns = (query.scalar_subquery() for query in counts.values())
            return dict(zip(counts, connection.execute(select(*columns)).one(), strict=True))

    def delete(self, number: ProjectId, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_thing(connection, "project", number, self._clock(), cascade=cascade)


def _listed(row: Any) -> Project:
    number, name, created_at, modified_at, is_draft, baseline, *_ = row
    return Project(
        id=number,
        name=name,
        created_at=created_at,
        modified_at=modified_at,
        is_draft=is_draft,
        baseline_benchmark_id=baseline,
    )
