"""Answers to requests that may come again. They are written in the transaction of what they tell
of (``Database.writing``): nothing is created without its answer being kept, nor the other way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

from sqlalchemy import delete, insert, select

from modeldyno.store.database import Database
from modeldyno.store.records.rows import Clock, utc_now, value_of
from modeldyno.store.tables import ANSWERS

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    request: str  # the hash of what was asked: under one key, nothing else may be asked
    status: int
    body: str  # JSON
    location: str | None = None


class AnswerRecords:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def find(self, route: str, key: str) -> KeptAnswer | None:
        """None when there was none, or when it is a day old."""
        query = select(ANSWERS).where(ANSWERS.c.route == route, ANSWERS.c.key == key)
        query = query.where(ANSWERS.c.created_at > self._clock() - KEPT_FOR)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return value_of(KeptAnswer, row) if row else None

    def keep(self, route: str, key: str, answer: KeptAnswer) -> None:
        """Also forgets those that are a day old: somebody must."""
        now = self._clock()
        with self._database.writing() as connection:
            connection.execute(delete(ANSWERS).where(ANSWERS.c.created_at <= now - KEPT_FOR))
            row = asdict(answer) | {"route": route, "key": key, "created_at": now}
            connection.execute(insert(ANSWERS).values(row))
