"""Stored answers to requests that may be repeated, written in the transaction of the change that
they confirm (``Database.writing``), so there is never one without the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

from sqlalchemy import delete, insert, select

from modeldyno.store.records.rows import Repository, dataclass_from_row
from modeldyno.store.tables import ANSWERS

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    request: str  # its hash: a key must not be used for another request
    status: int
    body: str  # JSON
    location: str | None = None


class AnswerRecords(Repository):
    def find(self, route: str, key: str) -> KeptAnswer | None:
        """None if there is none, or it has expired."""
        query = select(ANSWERS).where(ANSWERS.c.route == route, ANSWERS.c.key == key)
        query = query.where(ANSWERS.c.created_at > self._clock() - KEPT_FOR)
        row = self._fetch_first(query)
        return dataclass_from_row(KeptAnswer, row) if row else None

    def keep(self, route: str, key: str, answer: KeptAnswer) -> None:
        """Also deletes expired answers."""
        now = self._clock()
        with self._database.writing() as connection:
            connection.execute(delete(ANSWERS).where(ANSWERS.c.created_at <= now - KEPT_FOR))
            row = asdict(answer) | {"route": route, "key": key, "created_at": now}
            connection.execute(insert(ANSWERS).values(row))
