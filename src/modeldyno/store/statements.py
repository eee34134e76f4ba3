"""Frequent statements: compiled once, and passed to the driver itself.

For a short query, SQLAlchemy takes longer than the database.
"""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from typing import Any, TypeAlias

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.exc import DBAPIError

Query: TypeAlias = "Select[*tuple[Any, ...]]"

_CURSOR = "modeldyno_cursor"


def fetch_rows(connection: Connection, query: Query, **values: Any) -> list[Any]:
    """All rows, as named tuples. ``query`` must be one of a few constants, with a ``bindparam`` for
    each value that differs."""
    return _compile_cached(query, connection.dialect).rows(connection, values)


@lru_cache(maxsize=512)
def _compile_cached(query: Query, dialect: Dialect) -> _Statement:
    return _Statement(query, dialect)


class _Statement:
    def __init__(self, query: Query, dialect: Dialect) -> None:
        compiled: Any = query.compile(dialect=dialect)
        self._text = compiled.string
        self._parameters = compiled.params
        self._order = compiled.positiontup  # None: by name
        columns = [*query.selected_columns]
        names = [column.key for column in columns]
        row: Any = namedtuple("_Row", names, rename=True)  # type: ignore[misc]
        self._make_row = row._make
        self._types = [column.type.dialect_impl(dialect) for column in columns]
        self._readers: list[tuple[int, Any]] | None = None

    def rows(self, connection: Connection, values: dict[str, Any]) -> list[Any]:
        parameters: Any = self._parameters | values
        if self._order is not None:
            parameters = [parameters[name] for name in self._order]
        # For listeners, such as a test that counts statements.
        connection.dispatch.before_cursor_execute(
            connection, None, self._text, parameters, None, False
        )
        try:
            cursor = _open_cursor(connection)
            rows = cursor.execute(self._text, parameters).fetchall()
        except connection.dialect.loaded_dbapi.Error as error:
            raise _wrap_driver_error(connection, self._text, error) from error
        if self._readers is None:
            self._readers = self._find_readers(connection.dialect, cursor.description)
        if self._readers:
            rows = [_convert_row(row, self._readers) for row in rows]
        return [*map(self._make_row, rows)]

    def _find_readers(self, dialect: Dialect, description: Any) -> list[tuple[int, Any]]:
        """What converts a driver's values, by place; most need no conversion."""
        readers = (
            kind.result_processor(dialect, column[1])
            for kind, column in zip(self._types, description, strict=True)
        )
        return [(place, read) for place, read in enumerate(readers) if read]


def _open_cursor(connection: Connection) -> Any:
    """One for as long as the connection lives: psycopg needs as long for a cursor as for a row."""
    info = connection.info
    cursor = info.get(_CURSOR)
    if cursor is None:
        driver: Any = connection.connection.driver_connection
        cursor = info[_CURSOR] = driver.cursor()
    return cursor


def _convert_row(row: Any, readers: list[tuple[int, Any]]) -> list[Any]:
    values = list(row)
    for place, read in readers:
        values[place] = read(values[place])
    return values


def _wrap_driver_error(connection: Connection, text: str, error: Exception) -> BaseException:
    """As SQLAlchemy does it: a lost connection is not used again."""
    dialect = connection.dialect
    is_lost = dialect.is_disconnect(error, connection.connection.driver_connection, None)  # type: ignore[arg-type]
    if is_lost:
        connection.invalidate(error)
    return DBAPIError.instance(
        text,
        None,
        error,
        dialect.loaded_dbapi.Error,
        connection_invalidated=is_lost,
        dialect=dialect,
    )
