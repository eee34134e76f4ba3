"""Rows of what can be run: added, changed and listed in one way, whatever their kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from modeldyno.core.codec import encode
from modeldyno.core.documents.runnables import NUMBER_PATHS
from modeldyno.core.names import checked_name, search_key
from modeldyno.core.runs import LatestRun, Page, RunKind, RunnableDetails, Wanted
from modeldyno.store.columns import JsonNumber, Sizes
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.documents import summary_columns, summary_text
from modeldyno.store.kinds import KINDS, ROLES, KindMapping, kind_of
from modeldyno.store.pages import Sorting, of_project, page_of
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import (
    COLUMNS,
    Clock,
    find_row,
    is_of_kind,
    not_found,
    require_in_project,
    require_never_run,
    utc_now,
    value_of,
)
from modeldyno.store.schema import dump_json
from modeldyno.store.statements import Query, rows_of
from modeldyno.store.tables import CELLS, JOBS, LINKS, MODELS, NUMBERS, RUNNABLES, RUNS

N = TypeVar("N")
V = TypeVar("V")
T = TypeVar("T")

_SORTINGS = {
    "created": Sorting(RUNNABLES.c.created_at),
    "name": Sorting(RUNNABLES.c.name_key),
    "state": Sorting(RUNNABLES.c.state),
    "last_run": Sorting(RUNNABLES.c.last_run_at, is_nullable=True),
    "latency": Sorting(RUNNABLES.c.typical_s, is_nullable=True),
    "throughput": Sorting(RUNNABLES.c.throughput_per_s, is_nullable=True),
    **{
        name: Sorting(
            JsonNumber(RUNNABLES.c.document, path).label(f"by_{name}"),
            is_nullable=True,
        )
        for name, path in NUMBER_PATHS.items()
    },
}
_OF_LATEST = ("id", "state", "created_at", "started_at", "finished_at", "failure")


class RunnableRecords(Generic[N, V]):
    """The repository of one kind."""

    kind: RunKind

    def __init__(self, database: Database, clock: Clock = utc_now, kind: RunKind = "") -> None:
        self._database = database
        self._clock = clock
        self.kind = kind or self.kind

    def add(self, new: N) -> V:
        with self._database.writing() as connection:
            return self._find(connection, add_runnable(connection, new, self._clock()))

    def get(self, number: int) -> V:
        with self._database.reading() as connection:
            return self._find(connection, number)

    def rerun(self, number: int) -> V:
        """A new one with the same settings, that knows what it repeats."""
        kind = KINDS[self.kind]
        with self._database.writing() as connection:
            before = self._find(connection, number)
            names = (*kind.links, *kind.own, "project_id", "name")
            same = {name: getattr(before, name) for name in names}
            new = kind.new(**same, rerun_of=number)
            return self._find(connection, add_runnable(connection, new, self._clock()))

    def page(self, wanted: Wanted | None = None) -> Page[V]:
        with self._database.reading() as connection:
            return page_of_kind(connection, self.kind, wanted or Wanted(), self._read)

    def delete(self, number: int, *, cascade: bool = False) -> None:
        """With its runs; their folders follow when somebody sweeps."""
        with self._database.writing() as connection:
            delete_thing(connection, self.kind, number, self._clock(), cascade=cascade)

    def edit(self, number: int, **values: Any) -> V:
        """None stays, and so do single settings. Raises WrongState once it has run, unless only its
        name changes."""
        with self._database.writing() as connection:
            given = {name: encode(value) for name, value in values.items() if value is not None}
            _edit(connection, KINDS[self.kind], number, given, self._clock())
            return self._find(connection, number)

    def details(self, number: int) -> Any:
        """All that a page about it shows, in one query."""
        with self._database.reading() as connection:
            return self._details(
                find_runnable_row(connection, self.kind, number, with_names(self.kind))
            )

    def all_details(self, project_id: int) -> list[Any]:
        """All of a project, oldest first, in one query however many there are."""
        mine = RUNNABLES.c.project_id == project_id
        query = with_names(self.kind).where(mine).order_by(RUNNABLES.c.number)
        with self._database.reading() as connection:
            return [self._details(row) for row in connection.execute(query)]

    def names(self, number: int) -> tuple[str, ...]:
        """Of its models, in the order of its spec."""
        with self._database.reading() as connection:
            row = find_runnable_row(connection, self.kind, number, with_names(self.kind))
        return self._names(row)

    def _names(self, row: Any) -> tuple[str, ...]:
        fields = KINDS[self.kind].model_links
        return tuple(getattr(row, f"{field}_name") for field in fields)

    def _details(self, row: Any) -> RunnableDetails[V]:
        return RunnableDetails(self._read(row), self._names(row), latest_run(row))

    def _find(self, connection: Connection, number: int) -> V:
        return self._read(find_runnable_row(connection, self.kind, number, with_links(self.kind)))

    def _read(self, row: Any) -> V:
        own = _own_fields(self.kind, row.spec_json)
        value: V = value_of(KINDS[self.kind].value, row, summary_json=summary_text(row), **own)
        return value


@lru_cache(maxsize=4096)
def _own_fields(kind: str, spec_json: str) -> dict[str, Any]:
    """Values that nobody changes: to read a spec takes longer than all else of a row, and those of
    a list are often alike."""
    own = json.loads(spec_json)
    return {name: read(own[name]) for name, read in KINDS[kind].own.items()}


# ---------------------------------------------------------------- queries

# The spec as text: a driver would build values of it for each row.
_COLUMNS = (
    *(column for column in COLUMNS if column.name != "spec"),
    cast(RUNNABLES.c.spec, Text).label("spec_json"),
)


@cache
def link(role: str) -> Any:
    return LINKS.alias(f"{role}_link")


def linked(query: Query, field: str) -> Query:
    """With the link of that field beside each row; a dataset may be missing."""
    role, column = ROLES[field]
    alias = link(role)
    is_it = and_(alias.c.runnable_id == RUNNABLES.c.id, alias.c.role == literal_column(f"'{role}'"))
    return query.join(alias, is_it, isouter=column == "dataset_id")


@cache
def with_links(kind: str) -> Query:
    """Rows of a kind, with the numbers of its models and dataset."""
    fields = KINDS[kind].links
    columns = [link(ROLES[field][0]).c[ROLES[field][1]].label(field) for field in fields]
    query: Query = select(*_COLUMNS, *columns).select_from(RUNNABLES).where(is_of_kind(kind))
    for field in fields:
        query = linked(query, field)
    return query


@cache
def with_names(kind: str) -> Query:
    """The same with the names of its models, and its latest run."""
    query = with_links(kind)
    for field in KINDS[kind].model_links:
        role = ROLES[field][0]
        model = MODELS.alias(f"{role}_model")
        query = query.add_columns(model.c.name.label(f"{field}_name"))
        query = query.join(model, model.c.id == link(role).c.model_id)
    return with_run(query, "latest")


def with_run(query: Query, word: str) -> Query:
    """With the run of ``{word}_run_id`` and its job beside each row, for ``latest_run``."""
    run, job = RUNS.alias(f"{word}_run"), JOBS.alias(f"{word}_job")
    columns = [run.c[name].label(f"{word}_{name}") for name in _OF_LATEST]
    return (
        query.add_columns(*columns, job.c.id.label(f"{word}_job_id"))
        .outerjoin(run, run.c.id == RUNNABLES.c[f"{word}_run_id"])
        .outerjoin(job, job.c.run_id == run.c.id)
    )


def latest_run(row: Any, word: str = "latest") -> LatestRun | None:
    names, columns = _latest_columns(word)
    values = columns(row)
    return None if values[0] is None else LatestRun(**dict(zip(names, values, strict=True)))


@cache
def _latest_columns(word: str) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The fields of a ``LatestRun``, and what reads them from a row."""
    names = (*_OF_LATEST, "job_id")
    return names, attrgetter(*(f"{word}_{name}" for name in names))


def find_runnable_row(connection: Connection, kind: str, number: int, query: Query) -> Any:
    """The row of ``query`` with that number; raises NotFound."""
    row = None
    if 0 < number < 2**31:
        row = next(iter(rows_of(connection, _numbered(query), number=number)), None)
    if row is None:
        raise not_found(kind, number)
    return row


@lru_cache(maxsize=32)
def _numbered(query: Query) -> Query:
    return query.where(RUNNABLES.c.number == bindparam("number"))


def page_of_kind(
    connection: Connection,
    kind: str,
    wanted: Wanted,
    read: Callable[[Any], T],
    query: Query | None = None,
) -> Page[T]:
    query = with_links(kind) if query is None else query
    if wanted.engine is not None:
        query = query.where(_has_engine(wanted.engine))
    if wanted.state is not None:
        query = query.where(RUNNABLES.c.state == wanted.state)
    if wanted.cell:
        query = query.where(_has_cell(wanted.cell))
    query = of_project(query, wanted, RUNNABLES)
    number = RUNNABLES.c.number
    return page_of(connection, query, wanted, _SORTINGS, number, read, is_constant=True)


def _has_engine(engine: str) -> ColumnElement[bool]:
    """In its latest run, or in a cell that was asked for. Not LIKE: SQLite would ignore case."""
    without = func.replace(RUNNABLES.c.outline, dump_json(engine), "")
    return or_(RUNNABLES.c.engine == engine, without != RUNNABLES.c.outline)


def _has_cell(values: Mapping[str, Any]) -> ColumnElement[bool]:
    """One with all of these values, in the run that is shown."""
    conditions = (
        Sizes.has(CELLS.c[name], value) if isinstance(value, dict) else CELLS.c[name] == value
        for name, value in values.items()
    )
    return exists().where(CELLS.c.run_id == RUNNABLES.c.shown_run_id, *conditions)


# ---------------------------------------------------------------- changes


def add_runnable(connection: Connection, new: Any, now: datetime) -> int:
    """A draft, and the event that says so; its number."""
    kind = kind_of(new)
    values = encode(new)
    own = {name: values.pop(name) for name in kind.own}
    links = {field: values.pop(field) for field in kind.links}
    repeats = {f"rerun_of_{kind.name}": values.get("rerun_of")}
    _expect_links(connection, new.project_id, links, **repeats)
    name = checked_name(new.name)
    number = _next_number(connection, kind.name)
    values |= {"kind": kind.name, "number": number, "created_at": now, "state": "draft"}
    values |= {"name": name, "name_key": search_key(name), **_described(kind, own)}
    added = insert(RUNNABLES).values(values).returning(RUNNABLES.c.id)
    _write_links(connection, connection.execute(added).scalar_one(), links)
    payload = {"kind": kind.name, "id": number}
    add_event(connection, "runnable.created", new.project_id, payload, now)
    return number


def _edit(
    connection: Connection, kind: KindMapping, number: int, given: dict[str, Any], now: datetime
) -> None:
    row = find_row(connection, kind.name, number)
    own = {name: given[name] for name in kind.own if name in given}
    links = {field: given[field] for field in kind.links if field in given}
    _expect_links(connection, row.project_id, links)
    if own or links:
        require_never_run(connection, row)
    values: dict[str, Any] = {}
    if "settings" in own:
        own["settings"] = row.spec["settings"] | own["settings"]
    if own:
        values |= _described(kind, row.spec | own)
    if "name" in given:
        name = checked_name(given["name"])
        values |= {"name": name, "name_key": search_key(name)}
    if not values and not links:
        return
    values["modified_at"] = now
    _write_links(connection, row.runnable_id, links)
    changed = update(RUNNABLES).where(RUNNABLES.c.id == row.runnable_id)
    connection.execute(changed.values(values))
    payload = {"kind": kind.name, "id": number}
    add_event(connection, "runnable.changed", row.project_id, payload, now)


def _next_number(connection: Connection, kind: str) -> int:
    mine = NUMBERS.c.kind == kind
    raised = update(NUMBERS).where(mine).values(last=NUMBERS.c.last + 1).returning(NUMBERS.c.last)
    number = connection.scalar(raised)
    if number is None:
        connection.execute(insert(NUMBERS).values(kind=kind, last=1))
    return number or 1


def _described(kind: KindMapping, own: dict[str, Any]) -> dict[str, Any]:
    """The columns that follow from what only this kind has."""
    outline = dump_json(kind.outline(own, ()))
    return {"spec": own, "outline": outline, **summary_columns(kind.draft(own))}


def _expect_links(
    connection: Connection, project_id: int, links: dict[str, Any], **more: int | None
) -> None:
    numbers = {field.removesuffix("_id"): number for field, number in links.items()}
    require_in_project(connection, project_id, **numbers, **more)


def _write_links(connection: Connection, runnable_id: int, links: dict[str, int | None]) -> None:
    for field, number in links.items():
        if number is not None:
            role, column = ROLES[field]
            write_link(connection, runnable_id, role, **{column: number})


def write_link(connection: Connection, runnable_id: int, role: str, **used: int) -> None:
    """Instead of the one before."""
    is_it = (LINKS.c.runnable_id == runnable_id, LINKS.c.role == role)
    connection.execute(delete(LINKS).where(*is_it))
    connection.execute(insert(LINKS).values(runnable_id=runnable_id, role=role, **used))
