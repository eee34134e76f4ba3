"""Lists page by page, in one query each.

A page begins after the last row of the one before (a keyset), not after so many rows: rows that
come and go meanwhile neither repeat nor skip others, and a page far down costs what the first did.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Label,
    Table,
    and_,
    bindparam,
    or_,
    tuple_,
)

from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.names import checked_text, search_key
from modeldyno.core.runs import LARGEST_PAGE, ListQuery, Page
from modeldyno.store.statements import Query, rows_of

T = TypeVar("T")


@dataclass(frozen=True)
class Sorting:
    column: Column[Any] | Label[Any]
    is_nullable: bool = False  # rows without a value come last, whichever way it is sorted


def page_of(
    connection: Connection,
    query: Query,
    wanted: ListQuery,
    sortings: Mapping[str, Sorting],
    number: Column[Any],
    read: Callable[[Any], T],
    *,
    is_constant: bool = False,
) -> Page[T]:
    """The rows of ``query`` that come next; ``number`` decides between equals.

    It must be among the columns of the query, under its own name. ``is_constant`` says that the
    query is the same for all who want no more of it than a project's rows in some order.
    """
    sorting = _sorting(wanted, sortings)
    _check(wanted)
    values = {"most": wanted.limit + 1, "of_project": wanted.project_id}
    if wanted.cursor is not None:
        query = query.where(_after(wanted, sorting, number, _opened(wanted, sorting, number)))
    query = _in_order(query, sorting, wanted.descending, number)
    if is_constant and not _is_filtered(wanted):
        rows = rows_of(connection, query, **values)
    else:
        rows = [*connection.execute(query, values)]
    items = tuple(read(row) for row in rows[: wanted.limit])
    if len(rows) <= wanted.limit:
        return Page(items)
    last = rows[wanted.limit - 1]
    place = (getattr(last, column.key) for column in (sorting.column, number))
    return Page(items, _sealed(wanted, *place))


def _is_filtered(wanted: ListQuery) -> bool:
    """By more than the project."""
    conditions = (wanted.text, wanted.since, wanted.until, wanted.engine, wanted.state)
    return any(conditions) or wanted.cursor is not None


# To put a query together takes longer than to ask it. So what most lists begin with (those of a
# project, in some order) is made once, with places for what differs.


@lru_cache(maxsize=256)
def _in_order(query: Query, sorting: Sorting, descending: bool, number: Column[Any]) -> Query:
    if sorting.column.key not in query.selected_columns:
        query = query.add_columns(sorting.column)
    order = _order(sorting, descending, number)
    return query.order_by(*order).limit(bindparam("most"))


@lru_cache(maxsize=64)
def _in_project(query: Query, table: Table) -> Query:
    return query.where(table.c.project_id == bindparam("of_project"))


def of_project(query: Query, wanted: ListQuery, table: Table) -> Query:
    """The filters that every list of a project's things has; ``query`` is best a constant."""
    if wanted.project_id is not None:
        query = _in_project(query, table)
    return named(dated(query, wanted, table.c.created_at), wanted, table.c.name_key)


def named(query: Query, wanted: ListQuery, name_key: Column[Any]) -> Query:
    if not wanted.text:
        return query
    return query.where(name_key.contains(search_key(wanted.text), autoescape=True))


def dated(query: Query, wanted: ListQuery, moment: Column[Any]) -> Query:
    if wanted.since is not None:
        query = query.where(moment >= _zoned(wanted.since))
    if wanted.until is not None:
        query = query.where(moment < _zoned(wanted.until))
    return query


def refuse(wanted: ListQuery, *names: str) -> None:
    """A filter that a list does not have must not be ignored: the answer would be wrong."""
    for name in names:
        if getattr(wanted, name) is not None:
            raise BadValue(f"This list cannot be filtered by {name}", fix="Leave it out")


def _zoned(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise BadValue("A date needs its zone", fix="Write 2026-11-15T09:51:16Z")
    return moment


def _sorting(wanted: ListQuery, sortings: Mapping[str, Sorting]) -> Sorting:
    if wanted.sort not in sortings:
        raise BadValue(
            f"This list cannot be sorted by {wanted.sort!r}",
            fix=f"Choose one of: {', '.join(sorted(sortings))}",
        )
    return sortings[wanted.sort]


def _check(wanted: ListQuery) -> None:
    if not 1 <= wanted.limit <= LARGEST_PAGE:
        raise BadValue(
            f"A page has 1 to {LARGEST_PAGE} lines", why=f"{wanted.limit} were asked for"
        )
    checked_text("".join(map(str, (wanted.text, wanted.engine, *wanted.cell.values()))))
    if wanted.project_id is not None and not 0 < wanted.project_id < 2**31:
        raise NotFound(
            f"There is no project {wanted.project_id}", fix="Ask for the list of projects"
        )


def _order(sorting: Sorting, descending: bool, number: Column[Any]) -> list[ColumnElement[Any]]:
    order: list[ColumnElement[Any]] = [
        column.desc() if descending else column.asc() for column in (sorting.column, number)
    ]
    if sorting.is_nullable:
        order[0] = order[0].nulls_last()
    return order if sorting.column is not number else order[1:]


def _after(
    wanted: ListQuery, sorting: Sorting, number: Column[Any], last: tuple[Any, Any]
) -> ColumnElement[bool]:
    value, at = last
    column = sorting.column
    beyond_at = number < at if wanted.descending else number > at
    if value is None:
        return and_(column.is_(None), beyond_at)
    if not sorting.is_nullable:  # one comparison, which an index can answer
        here, there = tuple_(column, number), tuple_(value, at)
        return here < there if wanted.descending else here > there
    beyond = column < value if wanted.descending else column > value
    return or_(beyond, and_(column == value, beyond_at), column.is_(None))


def _sealed(wanted: ListQuery, value: Any, number: Any) -> str:
    """For the client it is a word without meaning; it fits the order it was made for alone."""
    plain = {"at": value.isoformat()} if isinstance(value, datetime) else value
    order = [wanted.sort, wanted.descending]
    told = json.dumps([*order, plain, number], ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def _opened(wanted: ListQuery, sorting: Sorting, number: Column[Any]) -> tuple[Any, Any]:
    assert wanted.cursor is not None
    padded = wanted.cursor + "=" * (-len(wanted.cursor) % 4)
    try:
        sort, descending, value, at = json.loads(base64.b64decode(padded, b"-_", validate=True))
        if isinstance(value, dict):
            value = _zoned(datetime.fromisoformat(value["at"]))
        _expect_order(wanted, sort, descending)
        if value is not None or not sorting.is_nullable:
            _expect(value, sorting.column)
        _expect(at, number)
    except (ValueError, TypeError, KeyError, RecursionError, BadValue) as error:
        raise BadValue(
            "The cursor is not one of ours, or of a list in another order",
            fix="Begin with the first page, without a cursor",
        ) from error
    return value, at


def _expect_order(wanted: ListQuery, sort: object, descending: object) -> None:
    if (sort, descending) != (wanted.sort, wanted.descending):
        raise ValueError("made for another order")


def _expect(value: Any, column: Column[Any] | Label[Any]) -> None:
    """What a database would refuse never gets there."""
    expected = column.type.python_type
    if type(value) is not expected and not (expected is float and type(value) is int):
        raise TypeError(f"no {expected.__name__}")
    if isinstance(value, str):
        checked_text(value)
    if isinstance(value, (int, float)) and not -(2**63) < value < 2**63:
        raise ValueError("too large")
