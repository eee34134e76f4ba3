"""Events are rows: written with the change they tell of, read by whoever tells browsers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from modeldyno.core.events import Event, EventsSince
from modeldyno.store.database import Database
from modeldyno.store.tables import EVENTS

_EARLIER_KINDS = ("benchmark", "comparison", "optimization", "profile")


def add_event(
    connection: Connection,
    kind: str,
    project_id: int | None,
    payload: dict[str, Any],
    now: datetime,
) -> None:
    """In the transaction of the change itself: both are there, or neither is."""
    connection.execute(
        insert(EVENTS).values(kind=kind, project_id=project_id, payload=payload, created_at=now)
    )


def add_events(
    connection: Connection,
    kind: str,
    told: Iterable[tuple[int | None, dict[str, Any]]],
    now: datetime,
) -> None:
    """The same of many things, each with its project, in one go."""
    rows = [
        {"kind": kind, "project_id": project, "payload": payload, "created_at": now}
        for project, payload in told
    ]
    if rows:
        connection.execute(insert(EVENTS), rows)


class EventRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def last_number(self) -> int:
        """Of the newest; 0 when there never was one."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.max(EVENTS.c.number))) or 0

    def since(self, number: int, limit: int = 500, project_id: int | None = None) -> EventsSince:
        """Those after ``number``, oldest first."""
        query = select(EVENTS).where(EVENTS.c.number > number)
        if project_id is not None:
            query = query.where(EVENTS.c.project_id == project_id)
        oldest = select(func.min(EVENTS.c.number)).scalar_subquery()
        query = query.add_columns(oldest.label("oldest")).order_by(EVENTS.c.number).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            first = rows[0].oldest if rows else connection.scalar(select(func.min(EVENTS.c.number)))
        return EventsSince(tuple(_event(row) for row in rows), _is_complete(number, first))

    def forget(self, keep: int) -> int:
        """Keep the newest ones; how many were forgotten. The newest of all always stays."""
        with self._database.writing() as connection:
            newest = connection.scalar(select(func.max(EVENTS.c.number))) or 0
            gone = connection.execute(
                delete(EVENTS).where(EVENTS.c.number <= newest - max(keep, 1))
            )
            return gone.rowcount


def _is_complete(number: int, oldest: int | None) -> bool:
    return oldest is None or number >= oldest - 1


def _event(row: Any) -> Event:
    kind, payload = _upgraded(row.kind, row.payload)
    return Event(
        number=row.number,
        kind=kind,
        project_id=row.project_id,
        payload=payload,
        created_at=row.created_at,
    )


def _upgraded(kind: str, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Rows of earlier versions: ``benchmark.created``, and ``{"run_id": …, "benchmark": 12}``."""
    noun, _, verb = kind.partition(".")
    if noun in _EARLIER_KINDS and verb != "trial":
        return f"runnable.{verb}", {"kind": noun, **payload}
    if noun in ("run", "note") and "kind" not in payload:
        of = next(name for name in payload if name not in ("run_id", "state", "version"))
        rest = {name: value for name, value in payload.items() if name != of}
        return kind, {"kind": of, "id": payload[of], **rest}
    return kind, payload
