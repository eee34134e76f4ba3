"""Rows of runnables: added, changed and listed in the same way, whatever their kind."""

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
from modeldyno.core.runs import LatestRun, ListQuery, Page, RunKind, RunnableDetails
from modeldyno.store.columns import JsonNumber, Sizes
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_with_dependents
from modeldyno.store.documents import read_summary_json, summary_to_columns
from modeldyno.store.kinds import KINDS, ROLES, KindMapping, mapping_of_new
from modeldyno.store.pages import Sorting, filter_by_project_name_and_date, read_page
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import (
    COLUMNS,
    Clock,
    Repository,
    dataclass_from_row,
    find_row,
    is_of_kind_sql,
    name_to_columns,
    read_row_by_number,
    require_in_project,
    require_never_run,
    utc_now,
)
from modeldyno.store.schema import dump_json
from modeldyno.store.statements import Query
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


class RunnableRecords(Repository, Generic[N, V]):
    """The runnables of one kind."""

    kind: RunKind

    def __init__(self, database: Database, clock: Clock = utc_now, kind: RunKind = "") -> None:
        super().__init__(database, clock)
        self.kind = kind or self.kind

    def add(self, new: N) -> V:
        with self._database.writing() as connection:
            return self._find_by_number(connection, add_runnable(connection, new, self._clock()))

    def get(self, number: int) -> V:
        with self._database.reading() as connection:
            return self._find_by_number(connection, number)

    def rerun(self, number: int) -> V:
        """Add one with the same settings, which refers to the one it repeats."""
        kind = KINDS[self.kind]
        with self._database.writing() as connection:
            before = self._find_by_number(connection, number)
            names = (*kind.links, *kind.own, "project_id", "name")
            settings = {name: getattr(before, name) for name in names}
            new = kind.new(**settings, rerun_of=number)
            return self._find_by_number(connection, add_runnable(connection, new, self._clock()))

    def page(self, list_query: ListQuery | None = None) -> Page[V]:
        with self._database.reading() as connection:
            return read_page_of_kind(
                connection, self.kind, list_query or ListQuery(), self._from_row
            )

    def delete(self, number: int, *, cascade: bool = False) -> None:
        """With its runs, whose folders are removed by the next sweep."""
        with self._database.writing() as connection:
            delete_with_dependents(connection, self.kind, number, self._clock(), cascade=cascade)

    def edit(self, number: int, **values: Any) -> V:
        """Values that are None, and settings that are not named, stay as they are. Raises
        WrongState if it has been run and more than its name would change."""
        changes = {name: encode(value) for name, value in values.items() if value is not None}
        with self._database.writing() as connection:
            _update_runnable(connection, KINDS[self.kind], number, changes, self._clock())
            return self._find_by_number(connection, number)

    def details(self, number: int) -> Any:
        """All that a page about it shows, in one query; raises NotFound."""
        with self._database.reading() as connection:
            return self._details_from_row(
                self._read_row(connection, number, select_with_names(self.kind))
            )

    def all_details(self, project_id: int) -> list[Any]:
        """Those of a project, oldest first, in one query."""
        mine = RUNNABLES.c.project_id == project_id
        query = select_with_names(self.kind).where(mine).order_by(RUNNABLES.c.number)
        return [self._details_from_row(row) for row in self._fetch_all(query)]

    def names(self, number: int) -> tuple[str, ...]:
        """The names of its models, in the order of its spec."""
        with self._database.reading() as connection:
            return self._model_names_from_row(
                self._read_row(connection, number, select_with_names(self.kind))
            )

    def _model_names_from_row(self, row: Any) -> tuple[str, ...]:
        fields = KINDS[self.kind].model_links
        return tuple(getattr(row, f"{field}_name") for field in fields)

    def _details_from_row(self, row: Any) -> RunnableDetails[V]:
        return RunnableDetails(
            self._from_row(row), self._model_names_from_row(row), latest_run_from_row(row)
        )

    def _find_by_number(self, connection: Connection, number: int) -> V:
        return self._from_row(self._read_row(connection, number, select_with_links(self.kind)))

    def _read_row(self, connection: Connection, number: int, query: Query) -> Any:
        return read_row_by_number(connection, self.kind, number, where_number(query))

    def _from_row(self, row: Any) -> V:
        own = _parse_own_fields(self.kind, row.spec_json)
        value: V = dataclass_from_row(
            KINDS[self.kind].value, row, summary_json=read_summary_json(row), **own
        )
        return value


@lru_cache(maxsize=4096)
def _parse_own_fields(kind: str, spec_json: str) -> dict[str, Any]:
    """Cached: decoding a spec takes longer than the rest of a row, and rows of a list often have
    equal ones. The values are immutable."""
    own = json.loads(spec_json)
    return {name: read(own[name]) for name, read in KINDS[kind].own.items()}


# ---------------------------------------------------------------- queries

# The spec as text, so that drivers do not decode it for each row.
_COLUMNS = (
    *(column for column in COLUMNS if column.name != "spec"),
    cast(RUNNABLES.c.spec, Text).label("spec_json"),
)


@cache
def link_table_alias(role: str) -> Any:
    return LINKS.alias(f"{role}_link")


def join_link(query: Query, field: str) -> Query:
    """Join the link of that field; a dataset may be missing."""
    role, column = ROLES[field]
    alias = link_table_alias(role)
    is_it = and_(alias.c.runnable_id == RUNNABLES.c.id, alias.c.role == literal_column(f"'{role}'"))
    return query.join(alias, is_it, isouter=column == "dataset_id")


@cache
def select_with_links(kind: str) -> Query:
    """Rows of a kind, with the numbers of their models and dataset."""
    fields = KINDS[kind].links
    columns = [
        link_table_alias(ROLES[field][0]).c[ROLES[field][1]].label(field) for field in fields
    ]
    query: Query = select(*_COLUMNS, *columns).select_from(RUNNABLES).where(is_of_kind_sql(kind))
    for field in fields:
        query = join_link(query, field)
    return query


@cache
def select_with_names(kind: str) -> Query:
    """As ``select_with_links``, with the names of the models, and the latest run."""
    query = select_with_links(kind)
    for field in KINDS[kind].model_links:
        role = ROLES[field][0]
        model = MODELS.alias(f"{role}_model")
        query = query.add_columns(model.c.name.label(f"{field}_name"))
        query = query.join(model, model.c.id == link_table_alias(role).c.model_id)
    return join_run(query, "latest")


def join_run(query: Query, word: str) -> Query:
    """Join the run ``{word}_run_id`` and its job, for ``latest_run_from_row``."""
    run, job = RUNS.alias(f"{word}_run"), JOBS.alias(f"{word}_job")
    columns = [run.c[name].label(f"{word}_{name}") for name in _OF_LATEST]
    return (
        query.add_columns(*columns, job.c.id.label(f"{word}_job_id"))
        .outerjoin(run, run.c.id == RUNNABLES.c[f"{word}_run_id"])
        .outerjoin(job, job.c.run_id == run.c.id)
    )


def latest_run_from_row(row: Any, word: str = "latest") -> LatestRun | None:
    names, columns = _latest_columns(word)
    values = columns(row)
    return None if values[0] is None else LatestRun(**dict(zip(names, values, strict=True)))


@cache
def _latest_columns(word: str) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The fields of a ``LatestRun``, and what reads them from a row."""
    names = (*_OF_LATEST, "job_id")
    return names, attrgetter(*(f"{word}_{name}" for name in names))


@lru_cache(maxsize=32)
def where_number(query: Query) -> Query:
    """The row with the ``number`` that is passed as a parameter, for ``read_row_by_number``."""
    return query.where(RUNNABLES.c.number == bindparam("number"))


def read_page_of_kind(
    connection: Connection,
    kind: str,
    list_query: ListQuery,
    read: Callable[[Any], T],
    query: Query | None = None,
) -> Page[T]:
    query = select_with_links(kind) if query is None else query
    if list_query.engine is not None:
        query = query.where(_has_engine_sql(list_query.engine))
    if list_query.state is not None:
        query = query.where(RUNNABLES.c.state == list_query.state)
    if list_query.cell:
        query = query.where(_has_cell_sql(list_query.cell))
    query = filter_by_project_name_and_date(query, list_query, RUNNABLES)
    number = RUNNABLES.c.number
    return read_page(connection, query, list_query, _SORTINGS, number, read, is_constant=True)


def _has_engine_sql(engine: str) -> ColumnElement[bool]:
    """In its latest run, or in a cell of its spec. Not with LIKE, which ignores case in SQLite."""
    without = func.replace(RUNNABLES.c.outline, dump_json(engine), "")
    return or_(RUNNABLES.c.engine == engine, without != RUNNABLES.c.outline)


def _has_cell_sql(values: Mapping[str, Any]) -> ColumnElement[bool]:
    """A cell with all these values in the run that is shown."""
    conditions = (
        Sizes.contains_sizes(CELLS.c[name], value)
        if isinstance(value, dict)
        else CELLS.c[name] == value
        for name, value in values.items()
    )
    return exists().where(CELLS.c.run_id == RUNNABLES.c.shown_run_id, *conditions)


# ---------------------------------------------------------------- changes


def add_runnable(connection: Connection, new: Any, now: datetime) -> int:
    """Add a draft and its event; returns its number."""
    kind = mapping_of_new(new)
    values = encode(new)
    own = {name: values.pop(name) for name in kind.own}
    links = {field: values.pop(field) for field in kind.links}
    repeats = {f"rerun_of_{kind.name}": values.get("rerun_of")}
    _require_links(connection, new.project_id, links, **repeats)
    values |= name_to_columns(new.name) | _spec_to_columns(kind, own)
    number = _next_number(connection, kind.name)
    values |= {"kind": kind.name, "number": number, "created_at": now, "state": "draft"}
    added = insert(RUNNABLES).values(values).returning(RUNNABLES.c.id)
    _write_links(connection, connection.execute(added).scalar_one(), links)
    payload = {"kind": kind.name, "id": number}
    add_event(connection, "runnable.created", new.project_id, payload, now)
    return number


def _update_runnable(
    connection: Connection, kind: KindMapping, number: int, changes: dict[str, Any], now: datetime
) -> None:
    row = find_row(connection, kind.name, number)
    own = {name: changes[name] for name in kind.own if name in changes}
    links = {field: changes[field] for field in kind.links if field in changes}
    _require_links(connection, row.project_id, links)
    if own or links:
        require_never_run(connection, row)
    values: dict[str, Any] = {}
    if "settings" in own:
        own["settings"] = row.spec["settings"] | own["settings"]
    if own:
        values |= _spec_to_columns(kind, row.spec | own)
    if "name" in changes:
        values |= name_to_columns(changes["name"])
    if not values and not links:
        return
    values["modified_at"] = now
    _write_links(connection, row.runnable_id, links)
    changed = update(RUNNABLES).where(RUNNABLES.c.id == row.runnable_id)
    connection.execute(changed.values(values))
    payload = {"kind": kind.name, "id": number}
    add_event(connection, "runnable.changed", row.project_id, payload, now)


def _next_number(connection: Connection, kind: str) -> int:
    increment = update(NUMBERS).where(NUMBERS.c.kind == kind).values(last=NUMBERS.c.last + 1)
    number = connection.scalar(increment.returning(NUMBERS.c.last))
    if number is None:
        connection.execute(insert(NUMBERS).values(kind=kind, last=1))
    return number or 1


def _spec_to_columns(kind: KindMapping, own: dict[str, Any]) -> dict[str, Any]:
    """The columns that follow from the fields that only this kind has."""
    outline = dump_json(kind.outline(own, ()))
    return {"spec": own, "outline": outline, **summary_to_columns(kind.draft(own))}


def _require_links(
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
    """Replaces an earlier link with this role."""
    is_it = (LINKS.c.runnable_id == runnable_id, LINKS.c.role == role)
    connection.execute(delete(LINKS).where(*is_it))
    connection.execute(insert(LINKS).values(runnable_id=runnable_id, role=role, **used))
