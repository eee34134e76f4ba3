"""Lists page by page, in one query each.

A page begins after the last row of the one before (keyset pagination), so rows that are added or
removed meanwhile cause no repetition or gap, and a late page costs as much as the first.
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
    literal_column,
    or_,
    tuple_,
)

from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.names import checked_text, search_key
from modeldyno.core.runs import LARGEST_PAGE, ListQuery, Page
from modeldyno.store.statements import Query, fetch_rows

T = TypeVar("T")


@dataclass(frozen=True)
class Sorting:
    column: Column[Any] | Label[Any]
    is_nullable: bool = False  # rows without a value are last in both directions


def read_page(
    connection: Connection,
    query: Query,
    list_query: ListQuery,
    sortings: Mapping[str, Sorting],
    number: Column[Any],
    read: Callable[[Any], T],
    *,
    is_constant: bool = False,
) -> Page[T]:
    """The next rows of ``query``; ``number``, one of its columns, orders equal ones.

    ``is_constant``: the query is always the same unless there are filters beside the project.
    """
    sorting = _find_sorting(list_query, sortings)
    _require_valid(list_query)
    values = {"of_project": list_query.project_id}
    if list_query.cursor is not None:
        query = query.where(
            _is_after_cursor(
                list_query, sorting, number, _decode_cursor(list_query, sorting, number)
            )
        )
    query = _sorted_and_limited(query, sorting, list_query.descending, number, list_query.limit + 1)
    if is_constant and not _is_filtered(list_query):
        rows = fetch_rows(connection, query, **values)
    else:
        rows = [*connection.execute(query, values)]
    items = tuple(read(row) for row in rows[: list_query.limit])
    if len(rows) <= list_query.limit:
        return Page(items)
    last = rows[list_query.limit - 1]
    place = (getattr(last, column.key) for column in (sorting.column, number))
    return Page(items, _encode_cursor(list_query, *place))


def _is_filtered(list_query: ListQuery) -> bool:
    """By more than the project."""
    conditions = (
        list_query.text,
        list_query.since,
        list_query.until,
        list_query.engine,
        list_query.state,
        list_query.cell,
    )
    return any(conditions) or list_query.cursor is not None


# Building a query takes longer than running it. So the usual ones (a project's rows in some order)
# are built once, with parameters for what differs.


@lru_cache(maxsize=256)
def _sorted_and_limited(
    query: Query, sorting: Sorting, descending: bool, number: Column[Any], limit: int
) -> Query:
    if sorting.column.key not in query.selected_columns:
        query = query.add_columns(sorting.column)
    order = _order_columns(sorting, descending, number)
    # In the text: PostgreSQL plans a prepared statement anew each time if its limit is a parameter,
    # which takes five times as long as running it.
    return query.order_by(*order).limit(literal_column(str(limit)))


@lru_cache(maxsize=64)
def _filter_by_project(query: Query, table: Table) -> Query:
    return query.where(table.c.project_id == bindparam("of_project"))


def filter_by_project_name_and_date(query: Query, list_query: ListQuery, table: Table) -> Query:
    """Apply the filters that lists of a project have in common; ``query`` should be a constant."""
    if list_query.project_id is not None:
        query = _filter_by_project(query, table)
    return filter_by_name(
        filter_by_date(query, list_query, table.c.created_at), list_query, table.c.name_key
    )


def filter_by_name(query: Query, list_query: ListQuery, name_key: Column[Any]) -> Query:
    if not list_query.text:
        return query
    return query.where(name_key.contains(search_key(list_query.text), autoescape=True))


def filter_by_date(query: Query, list_query: ListQuery, moment: Column[Any]) -> Query:
    if list_query.since is not None:
        query = query.where(moment >= _require_zone(list_query.since))
    if list_query.until is not None:
        query = query.where(moment < _require_zone(list_query.until))
    return query


def refuse_filters(list_query: ListQuery, *names: str) -> None:
    """Raises BadValue if one of these filters is set, since to ignore it would be wrong."""
    for name in names:
        if getattr(list_query, name) is not None:
            raise BadValue(f"This list cannot be filtered by {name}", fix="Leave it out")


def _require_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise BadValue("A date needs its zone", fix="Write 2026-11-15T09:51:16Z")
    return moment


def _find_sorting(list_query: ListQuery, sortings: Mapping[str, Sorting]) -> Sorting:
    if list_query.sort not in sortings:
        raise BadValue(
            f"This list cannot be sorted by {list_query.sort!r}",
            fix=f"Choose one of: {', '.join(sorted(sortings))}",
        )
    return sortings[list_query.sort]


def _require_valid(list_query: ListQuery) -> None:
    if not 1 <= list_query.limit <= LARGEST_PAGE:
        raise BadValue(
            f"A page has 1 to {LARGEST_PAGE} lines", why=f"{list_query.limit} were requested"
        )
    checked_text("".join(map(str, (list_query.text, list_query.engine, *list_query.cell.values()))))
    if list_query.project_id is not None and not 0 < list_query.project_id < 2**31:
        raise NotFound(
            f"There is no project {list_query.project_id}", fix="Ask for the list of projects"
        )


def _order_columns(
    sorting: Sorting, descending: bool, number: Column[Any]
) -> list[ColumnElement[Any]]:
    order: list[ColumnElement[Any]] = [
        column.desc() if descending else column.asc() for column in (sorting.column, number)
    ]
    if sorting.is_nullable:
        order[0] = order[0].nulls_last()
    return order if sorting.column is not number else order[1:]


def _is_after_cursor(
    list_query: ListQuery, sorting: Sorting, number: Column[Any], last: tuple[Any, Any]
) -> ColumnElement[bool]:
    value, at = last
    column = sorting.column
    beyond_at = number < at if list_query.descending else number > at
    if value is None:
        return and_(column.is_(None), beyond_at)
    if not sorting.is_nullable:  # one comparison, which an index can answer
        here, there = tuple_(column, number), tuple_(value, at)
        return here < there if list_query.descending else here > there
    beyond = column < value if list_query.descending else column > value
    return or_(beyond, and_(column == value, beyond_at), column.is_(None))


def _encode_cursor(list_query: ListQuery, value: Any, number: Any) -> str:
    """The cursor: opaque to clients, and valid only for this order."""
    plain = {"at": value.isoformat()} if isinstance(value, datetime) else value
    fields = [list_query.sort, list_query.descending, plain, number]
    text = json.dumps(fields, ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _decode_cursor(list_query: ListQuery, sorting: Sorting, number: Column[Any]) -> tuple[Any, Any]:
    assert list_query.cursor is not None
    padded = list_query.cursor + "=" * (-len(list_query.cursor) % 4)
    try:
        sort, descending, value, at = json.loads(base64.b64decode(padded, b"-_", validate=True))
        if isinstance(value, dict):
            value = _require_zone(datetime.fromisoformat(value["at"]))
        _require_order(list_query, sort, descending)
        if value is not None or not sorting.is_nullable:
            _require_column_value(value, sorting.column)
        _require_column_value(at, number)
    except (ValueError, TypeError, KeyError, RecursionError, BadValue) as error:
        raise BadValue(
            "The cursor is invalid, or from a list in another order",
            fix="Begin with the first page, without a cursor",
        ) from error
    return value, at


def _require_order(list_query: ListQuery, sort: object, descending: object) -> None:
    if (sort, descending) != (list_query.sort, list_query.descending):
        raise ValueError("made for another order")


def _require_column_value(value: Any, column: Column[Any] | Label[Any]) -> None:
    """Raises TypeError, ValueError or BadValue for what the database would refuse."""
    expected = column.type.python_type
    if type(value) is not expected and not (expected is float and type(value) is int):
        raise TypeError(f"no {expected.__name__}")
    if isinstance(value, str):
        checked_text(value)
    if isinstance(value, (int, float)) and not -(2**63) < value < 2**63:
        raise ValueError("too large")
