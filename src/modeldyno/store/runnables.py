"""What benchmarks, comparisons, optimizations and profiles have in common: they can be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, insert, select, update

from modeldyno.core.names import checked_name, search_key
from modeldyno.core.pages import Page, Wanted
from modeldyno.store.pages import Query, Sorting, of_project, page_of
from modeldyno.store.records.events import tell
from modeldyno.store.records.finding import expect_in_project, find, refuse_after_run
from modeldyno.store.tables import OWNERS

T = TypeVar("T")


def add(
    connection: Connection,
    kind: str,
    project_id: int,
    name: str,
    values: dict[str, Any],
    now: datetime,
) -> int:
    """A draft, and the event that says so."""
    rows = OWNERS[kind]
    name = checked_name(name)
    row = values | {"project_id": project_id, "name": name, "name_key": search_key(name)}
    row |= {"state": "draft", "created_at": now}
    number = connection.scalar(insert(rows).values(row).returning(rows.c.id)) or 0
    tell(connection, f"{kind}.created", project_id, {"id": number}, now)
    return number


def edit(
    connection: Connection, kind: str, number: int, values: dict[str, Any], now: datetime
) -> None:
    """What is None stays, and so do single settings. Settings only before the first run, the name
    at any time."""
    row = find(connection, kind, number)
    values = {name: value for name, value in values.items() if value is not None}
    expect_in_project(connection, row.project_id, dataset=values.get("dataset_id"))
    if "settings" in values:
        values["settings"] = row.settings | values["settings"]
    if "name" in values:
        name = checked_name(values["name"])
        values |= {"name": name, "name_key": search_key(name)}
    if values.keys() - {"name", "name_key"}:
        refuse_after_run(connection, kind, number)
    if not values:
        return
    rows = OWNERS[kind]
    if "modified_at" in rows.c:
        values |= {"modified_at": now}
    connection.execute(update(rows).where(rows.c.id == number).values(values))
    tell(connection, f"{kind}.changed", row.project_id, {"id": number}, now)


def page(
    connection: Connection,
    kind: str,
    wanted: Wanted,
    read: Callable[[Any], T],
    query: Query | None = None,
) -> Page[T]:
    """``query``, if given, has looked for the engine in its own way."""
    rows = OWNERS[kind]
    if query is None:
        query = _all(kind)
        if wanted.engine is not None:
            query = query.where(rows.c.engine == wanted.engine)
    if wanted.state is not None:
        query = query.where(rows.c.state == wanted.state)
    query = of_project(query, wanted, rows)
    return page_of(connection, query, wanted, _sortings(kind), _column(kind, "id"), read)


@cache
def _all(kind: str) -> Query:
    return select(*OWNERS[kind].c)


@cache
def _sortings(kind: str) -> dict[str, Sorting]:
    return {
        "created": Sorting(_column(kind, "created_at")),
        "name": Sorting(_column(kind, "name_key")),
        "state": Sorting(_column(kind, "state")),
        "last_run": Sorting(_column(kind, "last_run_at"), is_nullable=True),
        "latency": Sorting(_column(kind, "typical_s"), is_nullable=True),
        "throughput": Sorting(_column(kind, "throughput_per_s"), is_nullable=True),
    }


def _column(kind: str, name: str) -> Any:
    return OWNERS[kind].c[name]


def without(columns: Iterable[Any], *names: str) -> list[Any]:
    """Columns of a list: those that only details need cost time."""
    return [column for column in columns if column.name not in names]
