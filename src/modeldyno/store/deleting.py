"""Delete a thing: refuse while others use it, or delete those as well when asked.

Parts go with their whole (the database does that). What uses a thing is found by the references in
``tables.py``, so a table that is added there is never forgotten here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from modeldyno.core.errors import StillUsed, WrongState
from modeldyno.core.runs import ACTIVE
from modeldyno.store.records.events import tell_many
from modeldyno.store.records.finding import find
from modeldyno.store.tables import OPTIMIZATIONS, OWNERS, PINS, PROJECTS, RUNS, THINGS, TOMBSTONES

_NAMED = 5  # of many users; the rest are counted
_AT_ONCE = 500  # SQLite takes some 32 000 values in a statement, PostgreSQL 65 535

User = tuple[str, int, str]


def delete_thing(
    connection: Connection, kind: str, number: int, now: datetime, *, cascade: bool
) -> None:
    """Raises NotFound, StillUsed, or WrongState when something of it is queued or running.

    Folders of runs are left to who sweeps (``indexing.py``); tombstones name them.
    """
    row = find(connection, kind, number)
    users = [*users_of(connection, kind, [number]), *_pins_on(connection, kind, [number])]
    if users and not cascade:
        raise _still_used(kind, row.name, users)
    _remove(connection, kind, [number], now)


def users_of(connection: Connection, kind: str, numbers: Sequence[int]) -> list[User]:
    """What would be deleted with them, one step away."""
    found: list[User] = []
    for other, thing in THINGS.items():
        columns = _uses(other, kind)
        if not columns:
            continue
        is_user = or_(*(column.in_(numbers) for column in columns))
        query = select(thing.c.id, thing.c.name).where(is_user).order_by(thing.c.id)
        found += [(other, row.id, row.name) for row in connection.execute(query)]
    return found


def _uses(user: str, used: str) -> list[Any]:
    """The columns by which one kind of thing uses another."""
    target = THINGS[used]
    columns = THINGS[user].c
    return [
        column
        for column in columns
        for key in column.foreign_keys
        if key.column.table is target and key.ondelete is None
    ]


def _pins_on(connection: Connection, kind: str, numbers: Sequence[int]) -> list[User]:
    if kind != "benchmark":
        return []
    query = (
        select(OPTIMIZATIONS.c.id, OPTIMIZATIONS.c.name)
        .join(PINS, PINS.c.optimization_id == OPTIMIZATIONS.c.id)
        .where(PINS.c.benchmark_id.in_(numbers))
        .distinct()
        .order_by(OPTIMIZATIONS.c.id)
    )
    return [("optimization", row.id, row.name) for row in connection.execute(query)]


def _still_used(kind: str, name: str, users: list[User]) -> StillUsed:
    some = ", ".join(f"{what} {number} ({called})" for what, number, called in users[:_NAMED])
    more = f" and {len(users) - _NAMED} more" if len(users) > _NAMED else ""
    return StillUsed(
        f"Cannot delete {kind} {name!r}",
        why=f"it is used by {some}{more}",
        fix="Delete those first, or ask for everything that depends on it to be deleted, too",
        users=tuple(users),
    )


def _remove(connection: Connection, kind: str, numbers: list[int], now: datetime) -> None:
    for start in range(0, len(numbers), _AT_ONCE):
        _remove_some(connection, kind, numbers[start : start + _AT_ONCE], now)


def _remove_some(connection: Connection, kind: str, numbers: list[int], now: datetime) -> None:
    """Users first, theirs before them."""
    by_kind: dict[str, list[int]] = {}
    for other, number, _ in users_of(connection, kind, numbers):
        by_kind.setdefault(other, []).append(number)
    for other, found in by_kind.items():
        _remove(connection, other, found, now)
    if kind == "benchmark":
        connection.execute(delete(PINS).where(PINS.c.benchmark_id.in_(numbers)))
        held = PROJECTS.c.baseline_benchmark_id.in_(numbers)
        connection.execute(update(PROJECTS).where(held).values(baseline_benchmark_id=None))
    if kind in OWNERS:
        _bury_runs(connection, kind, numbers, now)
    thing = THINGS[kind]
    project = "id" if kind == "project" else "project_id"
    gone = delete(thing).where(thing.c.id.in_(numbers)).returning(*_told(kind))
    told = [(getattr(row, project), {"id": row.id}) for row in connection.execute(gone)]
    tell_many(connection, f"{kind}.deleted", told, now)


def _told(kind: str) -> list[Any]:
    columns = THINGS[kind].c
    return [columns.id] if kind == "project" else [columns.id, columns.project_id]


def _bury_runs(connection: Connection, kind: str, numbers: list[int], now: datetime) -> None:
    mine = RUNS.c[f"{kind}_id"].in_(numbers)
    runs = connection.execute(select(RUNS.c.id, RUNS.c.state).where(mine)).all()
    at_work = [run.id for run in runs if run.state in ACTIVE]
    if at_work:
        raise WrongState(
            f"Cannot delete a {kind} that is at work",
            why=f"run {at_work[0]} has not ended",
            fix="Cancel it first",
        )
    if runs:
        graves = [{"run_id": run.id, "removed_at": now} for run in runs]
        connection.execute(insert(TOMBSTONES), graves)
