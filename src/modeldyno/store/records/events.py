"""Events: written in the transaction of the change itself, read by the feed for browsers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from modeldyno.core.events import Event, EventsSince
from modeldyno.store.records.rows import Repository, dataclass_from_row
from modeldyno.store.tables import EVENTS

_EARLIER_KINDS = ("benchmark", "comparison", "optimization", "profile")


def add_event(
    connection: Connection,
    kind: str,
    project_id: int | None,
    payload: dict[str, Any],
    now: datetime,
) -> None:
    """In the transaction of the change: both are written, or neither is."""
    connection.execute(
        insert(EVENTS).values(kind=kind, project_id=project_id, payload=payload, created_at=now)
    )


def add_events(
    connection: Connection,
    kind: str,
    changes: Iterable[tuple[int | None, dict[str, Any]]],
    now: datetime,
) -> None:
    """One event for each project and payload, in one statement."""
    rows = [
        {"kind": kind, "project_id": project, "payload": payload, "created_at": now}
        for project, payload in changes
    ]
    if rows:
        connection.execute(insert(EVENTS), rows)


class EventRecords(Repository):
    def last_number(self) -> int:
        """The number of the newest event; 0 if there never was one."""
        return self._fetch_first(select(func.max(EVENTS.c.number)))[0] or 0

    def since(self, number: int, limit: int = 500, project_id: int | None = None) -> EventsSince:
        """The events after ``number``, oldest first."""
        query = select(EVENTS).where(EVENTS.c.number > number)
        if project_id is not None:
            query = query.where(EVENTS.c.project_id == project_id)
        oldest = select(func.min(EVENTS.c.number)).scalar_subquery()
        query = query.add_columns(oldest.label("oldest")).order_by(EVENTS.c.number).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            first = rows[0].oldest if rows else connection.scalar(select(func.min(EVENTS.c.number)))
        is_complete = first is None or number >= first - 1
        return EventsSince(tuple(map(_event_from_row, rows)), is_complete)

    def forget(self, keep: int) -> int:
        """Delete all but the newest ``keep``, at least one; returns how many were deleted."""
        with self._database.writing() as connection:
            newest = connection.scalar(select(func.max(EVENTS.c.number))) or 0
            old = EVENTS.c.number <= newest - max(keep, 1)
            return connection.execute(delete(EVENTS).where(old)).rowcount


def _event_from_row(row: Any) -> Event:
    kind, payload = _upgrade_payload(row.kind, row.payload)
    return dataclass_from_row(Event, row, kind=kind, payload=payload)


def _upgrade_payload(kind: str, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Of rows of earlier versions: ``benchmark.created``, or ``{"run_id": …, "benchmark": 12}``."""
    noun, _, verb = kind.partition(".")
    if noun in _EARLIER_KINDS and verb != "trial":
        return f"runnable.{verb}", {"kind": noun, **payload}
    if noun in ("run", "note") and "kind" not in payload:
        of = next(name for name in payload if name not in ("run_id", "state", "version"))
        rest = {name: value for name, value in payload.items() if name != of}
        return kind, {"kind": of, "id": payload[of], **rest}
    return kind, payload
