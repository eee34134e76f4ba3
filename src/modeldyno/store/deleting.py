"""Delete a thing: refuse if others use it, or, if requested, delete those as well.

The database deletes the parts of a thing. What runnables use is in ``links``, so a new kind needs
no change here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    insert,
    select,
    update,
)

from modeldyno.core.errors import StillUsed, WrongState
from modeldyno.core.runs import ACTIVE
from modeldyno.store.records.events import add_events
from modeldyno.store.records.rows import find_row, is_of_kind_sql
from modeldyno.store.tables import LINKS, PROJECTS, RUNNABLES, RUNS, THINGS, TOMBSTONES

# By kind: columns that refer to it by number.
_REFERRING = {"benchmark": (PROJECTS.c.baseline_benchmark_id,)}
_MOST_NAMED = 5  # users in an error; others are counted
_AT_ONCE = 500  # SQLite takes some 32 000 values in a statement, PostgreSQL 65 535

User = tuple[str, int, str]


def delete_with_dependents(
    connection: Connection, kind: str, number: int, now: datetime, *, cascade: bool
) -> None:
    """Raises NotFound, StillUsed, or WrongState if one of its runs is queued or running.

    Tombstones name its runs; a sweep (``indexing.py``) deletes their folders.
    """
    row = find_row(connection, kind, number)
    users = [
        *find_users(connection, kind, [number]),
        *_find_runnables_that_pin(connection, kind, row),
    ]
    if users and not cascade:
        raise _still_used_error(kind, row.name, users)
    _delete_rows_in_chunks(connection, kind, [number], now)


def find_users(connection: Connection, kind: str, numbers: Sequence[int]) -> list[User]:
    """What uses them directly and would be deleted with them."""
    if kind == "project":
        users = [
            (other, row.id, row.name)
            for other in ("model", "dataset")
            for row in connection.execute(_select_of_projects(THINGS[other], numbers))
        ]
        return users + _find_runnables_where(connection, RUNNABLES.c.project_id.in_(numbers))
    if kind in THINGS:
        return _find_runnables_linked_by(connection, LINKS.c[f"{kind}_id"].in_(numbers))
    return []


def _select_of_projects(table: Table, numbers: Sequence[int]) -> Select[int, str]:
    query = select(table.c.id, table.c.name).where(table.c.project_id.in_(numbers))
    return query.order_by(table.c.id)


def _find_runnables_that_pin(connection: Connection, kind: str, row: Any) -> list[User]:
    """Runnables that use it, but are not deleted with it."""
    return (
        []
        if kind in THINGS
        else _find_runnables_linked_by(connection, LINKS.c.used_id == row.runnable_id)
    )


def _find_runnables_linked_by(connection: Connection, links: ColumnElement[bool]) -> list[User]:
    users = select(LINKS.c.runnable_id).where(links)
    return _find_runnables_where(connection, RUNNABLES.c.id.in_(users))


def _find_runnables_where(connection: Connection, condition: ColumnElement[bool]) -> list[User]:
    columns = (RUNNABLES.c.kind, RUNNABLES.c.number, RUNNABLES.c.name)
    query = select(*columns).where(condition).order_by(RUNNABLES.c.kind, RUNNABLES.c.number)
    return [(row.kind, row.number, row.name) for row in connection.execute(query)]


def _still_used_error(kind: str, name: str, users: list[User]) -> StillUsed:
    some = ", ".join(f"{user} {number} ({title})" for user, number, title in users[:_MOST_NAMED])
    more = f" and {len(users) - _MOST_NAMED} more" if len(users) > _MOST_NAMED else ""
    return StillUsed(
        f"Cannot delete {kind} {name!r}",
        why=f"it is used by {some}{more}",
        fix="Delete those first, or also delete everything that depends on it",
        users=tuple(users),
    )


def _delete_rows_in_chunks(
    connection: Connection, kind: str, numbers: list[int], now: datetime
) -> None:
    for start in range(0, len(numbers), _AT_ONCE):
        _delete_rows(connection, kind, numbers[start : start + _AT_ONCE], now)


def _delete_rows(connection: Connection, kind: str, numbers: list[int], now: datetime) -> None:
    """Users before what they use."""
    by_kind: dict[str, list[int]] = {}
    for other, number, _ in find_users(connection, kind, numbers):
        by_kind.setdefault(other, []).append(number)
    for other, users in by_kind.items():
        _delete_rows_in_chunks(connection, other, users, now)
    if kind in THINGS:
        table = THINGS[kind]
        project = table.c.id if kind == "project" else table.c.project_id
        deleted = delete(table).where(table.c.id.in_(numbers)).returning(project, table.c.id)
        changes = _sorted_event_payloads(connection.execute(deleted), {})
        add_events(connection, f"{kind}.deleted", changes, now)
    else:
        is_it = and_(is_of_kind_sql(kind), RUNNABLES.c.number.in_(numbers))
        _clear_references(connection, kind, numbers, select(RUNNABLES.c.id).where(is_it), now)
        columns = (RUNNABLES.c.project_id, RUNNABLES.c.number)
        deleted = delete(RUNNABLES).where(is_it).returning(*columns)
        changes = _sorted_event_payloads(connection.execute(deleted), {"kind": kind})
        add_events(connection, "runnable.deleted", changes, now)


def _sorted_event_payloads(
    rows: Iterable[Any], payload: dict[str, Any]
) -> list[tuple[int, dict[str, Any]]]:
    """For ``add_events``, by number: the order of RETURNING is undefined."""
    return [
        (project, payload | {"id": number})
        for project, number in sorted(rows, key=lambda row: row[1])
    ]


def _clear_references(
    connection: Connection, kind: str, numbers: list[int], ids: Select[int], now: datetime
) -> None:
    """Leave tombstones for the runs, and clear references that the database does not know of."""
    _add_tombstones(connection, kind, ids, now)
    connection.execute(delete(LINKS).where(LINKS.c.used_id.in_(ids)))
    repeats = and_(is_of_kind_sql(kind), RUNNABLES.c.rerun_of.in_(numbers))
    connection.execute(update(RUNNABLES).where(repeats).values(rerun_of=None))
    for column in _REFERRING.get(kind, ()):
        references = update(column.table).where(column.in_(numbers))
        connection.execute(references.values({column: None}))


def _add_tombstones(connection: Connection, kind: str, ids: Select[int], now: datetime) -> None:
    query = select(RUNS.c.id, RUNS.c.state).where(RUNS.c.runnable_id.in_(ids))
    runs = connection.execute(query).all()
    active = [run.id for run in runs if run.state in ACTIVE]
    if active:
        raise WrongState(
            f"Cannot delete a {kind} that is at work",
            why=f"run {active[0]} has not ended",
            fix="Cancel it first",
        )
    if runs:
        tombstones = [{"run_id": run.id, "removed_at": now} for run in runs]
        connection.execute(insert(TOMBSTONES), tombstones)
