"""Types of columns that mean the same in SQLite and in PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Integer, String, TypeDecorator
from sqlalchemy.engine import Dialect

# A locale would sort and compare in its own way; bytes are the same everywhere.
Key = String().with_variant(String(collation="C"), "postgresql")
# SQLite counts rows for us only in a column that is called INTEGER; it has 64 bits there, too.
Long = BigInteger().with_variant(Integer, "sqlite")


class Moment(TypeDecorator[datetime]):
    """A moment in UTC. SQLite keeps no zone: there it is written without, and read with it."""

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

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        # The text itself: two steps for each of forty moments would be a quarter of a list.
        return _read if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _read(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")
