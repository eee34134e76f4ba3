"""Find a row or say that there is none, and turn rows into values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, bindparam, select

from modeldyno.core.errors import BadValue, NotFound, WrongState
from modeldyno.core.runs import RunSummary
from modeldyno.store.tables import RUNS, THINGS

T = TypeVar("T")
Clock = Callable[[], datetime]

_LARGEST = 2**31 - 1


def utc_now() -> datetime:
    return datetime.now(UTC)


def find(connection: Connection, kind: str, number: int) -> Any:
    """A whole row; raises NotFound."""
    row = None
    if 0 < number <= _LARGEST:  # what no column can hold is not there either
        row = connection.execute(_by_number(kind), {"number": number}).one_or_none()
    if row is None:
        raise not_found(kind, number)
    return row


@cache
def _by_number(kind: str) -> Select[*tuple[Any, ...]]:
    columns = THINGS[kind].c
    return select(*columns).where(columns.id == bindparam("number"))


def not_found(kind: str, number: int) -> NotFound:
    return NotFound(f"There is no {kind} {number}", fix=f"Ask for the list of {kind}s")


def expect_in_project(connection: Connection, project_id: int, **numbers: int | None) -> None:
    """That the project is there, and what is named by ``kind=number`` belongs to it."""
    find(connection, "project", project_id)
    for word, number in numbers.items():
        kind = word.rpartition("_")[2]  # a_model is a model
        if number is not None and find(connection, kind, number).project_id != project_id:
            raise BadValue(
                f"The {kind} {number} belongs to another project",
                fix=f"Choose one of project {project_id}",
            )


def refuse_after_run(connection: Connection, kind: str, number: int) -> None:
    """Settings that a result came from stay as they were."""
    ran = RUNS.c[f"{kind}_id"] == number
    if connection.scalar(select(RUNS.c.id).where(ran).limit(1)) is not None:
        raise WrongState(
            f"Cannot change {kind} {number}",
            why="it has been run, and its results belong to these settings",
            fix="Make a copy with the new settings",
        )


def value_of(cls: type[T], row: Any, **instead: Any) -> T:
    """The dataclass whose fields have the names of columns; ``instead`` for those that do not."""
    places = _places(cls, row._fields)  # type: ignore[arg-type]  # every class can be a key
    return cls(**({name: row[place] for name, place in places} | instead))


@cache
def _places(cls: Any, columns: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Where in a row the fields are: worked out once for each query, not for each row."""
    names = {field.name for field in fields(cls)}
    return tuple((name, place) for place, name in enumerate(columns) if name in names)


def summary_of(row: Any) -> RunSummary:
    return value_of(RunSummary, row)
