"""An event: something changed, look again. Numbers only grow, in the order of what happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    number: int
    kind: str  # ``benchmark.created``, ``run.changed`` …
    project_id: int | None  # may be gone by now
    payload: dict[str, Any] = field(default_factory=dict)
    created_at: datetime


@dataclass(frozen=True)
class EventsSince:
    events: tuple[Event, ...]
    is_complete: bool  # False: older ones were forgotten, so fetch everything anew
