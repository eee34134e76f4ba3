"""Find rows, and turn them into values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, literal_column, select

from modeldyno.core.errors import BadValue, NotFound, WrongState
from modeldyno.core.names import checked_name, search_key
from modeldyno.store.database import Database
from modeldyno.store.statements import Query, fetch_rows
from modeldyno.store.tables import RUNNABLES, RUNS, THINGS

T = TypeVar("T")
Clock = Callable[[], datetime]

_LARGEST = 2**31 - 1
# Of a runnable as users know it: ``id`` is its number.
COLUMNS = (
    RUNNABLES.c.number.label("id"),
    RUNNABLES.c.id.label("runnable_id"),
    *(column for column in RUNNABLES.c if column.name != "id"),
)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Repository:
    """Reads and writes rows, each method in one transaction: its own, or the one that surrounds it
    in this thread (``Database.writing``)."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def _fetch_all(self, query: Any) -> Sequence[Any]:
        with self._database.reading() as connection:
            return connection.execute(query).all()

    def _fetch_first(self, query: Any) -> Any:
        """None if there is no row."""
        with self._database.reading() as connection:
            return connection.execute(query.limit(1)).one_or_none()


def name_to_columns(name: str) -> dict[str, str]:
    """Raises BadValue."""
    name = checked_name(name)
    return {"name": name, "name_key": search_key(name)}


def is_of_kind_sql(kind: str) -> Any:
    # Not a parameter: the planner needs the value, and it is never user input.
    return RUNNABLES.c.kind == literal_column(f"'{kind}'")


def find_row(connection: Connection, kind: str, number: int) -> Any:
    """All columns of one thing; raises NotFound."""
    return read_row_by_number(connection, kind, number, _select_by_number(kind))


def read_row_by_number(connection: Connection, kind: str, number: int, query: Query) -> Any:
    """The only row of ``query``, which has a parameter ``number``; raises NotFound."""
    if 0 < number <= _LARGEST:  # a larger one does not fit in the column
        for row in fetch_rows(connection, query, number=number):
            return row
    raise NotFound(f"There is no {kind} {number}", fix=f"Ask for the list of {kind}s")


@cache
def _select_by_number(kind: str) -> Query:
    if kind in THINGS:
        return select(THINGS[kind]).where(THINGS[kind].c.id == bindparam("number"))
    return select(*COLUMNS).where(is_of_kind_sql(kind), RUNNABLES.c.number == bindparam("number"))


def require_in_project(connection: Connection, project_id: int, **numbers: int | None) -> None:
    """Raises NotFound, or BadValue if one of ``kind=number`` belongs to another project."""
    find_row(connection, "project", project_id)
    for word, number in numbers.items():
        kind = word.rpartition("_")[2]  # a_model is a model
        if number is not None and find_row(connection, kind, number).project_id != project_id:
            raise BadValue(
                f"The {kind} {number} belongs to another project",
                fix=f"Choose one of project {project_id}",
            )


def require_never_run(connection: Connection, runnable: Any) -> None:
    """Raises WrongState once there is a run: its results belong to the settings as they were."""
    ran = RUNS.c.runnable_id == runnable.runnable_id
    if connection.scalar(select(RUNS.c.id).where(ran).limit(1)) is not None:
        raise WrongState(
            f"Cannot change {runnable.kind} {runnable.id}",
            why="it has been run, and its results belong to these settings",
            fix="Make a copy with the new settings",
        )


def dataclass_from_row(cls: type[T], row: Any, **instead: Any) -> T:
    """A dataclass made of the columns with the names of its fields; ``instead`` gives others."""
    places = _match_fields_to_columns(cls, row._fields)  # type: ignore[arg-type]  # every class can be a key
    return cls(**({name: row[place] for name, place in places} | instead))


@cache
def _match_fields_to_columns(cls: Any, columns: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Names of fields and their places in a row; worked out once for each query, not each row."""
    names = {field.name for field in fields(cls)}
    return tuple((name, place) for place, name in enumerate(columns) if name in names)
