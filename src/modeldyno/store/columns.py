"""Types of columns that mean the same in SQLite and in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    Float,
    Integer,
    String,
    Text,
    TypeDecorator,
    and_,
    func,
    or_,
    type_coerce,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.visitors import InternalTraversal

# Compared by bytes: each locale sorts in its own way.
Key = String().with_variant(String(collation="C"), "postgresql")
# SQLite numbers rows by itself only in a column of type INTEGER, which has 64 bits there as well.
Long = BigInteger().with_variant(Integer, "sqlite")


class JsonNumber(ColumnElement[float]):
    """A number in a TEXT column that holds JSON; ``path`` is never user input."""

    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - an attribute of instances, says the base class
        ("column", InternalTraversal.dp_clauseelement),
        ("path", InternalTraversal.dp_string),
    ]
    type = Float(53)

    def __init__(self, column: Column[Any], path: str) -> None:
        self.column = column
        self.path = path


@compiles(JsonNumber, "sqlite")
def _json_number_in_sqlite(element: JsonNumber, compiler: Any, **options: Any) -> str:
    return f"json_extract({compiler.process(element.column, **options)}, '$.{element.path}')"


@compiles(JsonNumber, "postgresql")
def _json_number_in_postgresql(element: JsonNumber, compiler: Any, **options: Any) -> str:
    path = element.path.replace(".", ",")
    column = compiler.process(element.column, **options)
    return f"CAST(CAST({column} AS json) #>> '{{{path}}}' AS double precision)"


class Sizes(TypeDecorator[dict[str, int]]):
    """``{"seq":128}``, by names of dimensions. As text, since PostgreSQL cannot compare JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: dict[str, int] | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, int]:
        return json.loads(value) if value and value != "{}" else {}

    @staticmethod
    def contains_sizes(column: Column[Any], sizes: Mapping[str, int]) -> ColumnElement[bool]:
        """Not with LIKE: SQLite would ignore case, and names may have wildcards."""
        text = type_coerce(column, Text)
        entries = (
            json.dumps({name: size}, separators=(",", ":"))[1:-1] for name, size in sizes.items()
        )
        return and_(
            *(
                or_(*(func.replace(text, entry + end, "") != text for end in ",}"))
                for entry in entries
            )
        )


class Moment(TypeDecorator[datetime]):
    """A moment in UTC. SQLite stores no zone; it is added when the value is read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs its zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        # PostgreSQL returns moments in the zone of the session, which ``database.py`` sets to UTC.
        return _parse_utc_moment if dialect.name == "sqlite" else None


def _parse_utc_moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


# By the words of migrations: they never change.
MIGRATION_TYPES: dict[str, Any] = {
    "bool": Boolean(),
    "hash": String(64),
    "int": Integer(),
    "json": JSON(none_as_null=True),
    "key": Key,
    "long": Long,
    "moment": Moment(),
    "real": Float(53),
    "text": Text(),
}
