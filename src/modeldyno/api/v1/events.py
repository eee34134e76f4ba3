"""``/api/v1/events``: what changed, for those who were away or do without Socket.IO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from modeldyno.api.v1.shape import MOST_ID, Moment, Told, problems
from modeldyno.core.events import Event

if TYPE_CHECKING:
    from modeldyno.workbench import Server

MOST = 500
_LARGEST = 2**53 - 1


class EventTold(Told):
    number: int = Field(examples=[42])
    kind: str = Field(examples=["benchmark.created"])
    project_id: int | None = Field(description="May be gone by now.", examples=[1])
    payload: dict[str, Any] = Field(examples=[{"id": 7}])
    created_at: Moment


class EventsTold(Told):
    events: list[EventTold] = Field(description="Oldest first.")
    last: int = Field(description="What to ask `after` next time.", examples=[42])
    is_complete: bool = Field(
        description="False: some that you missed are not kept any more, so fetch everything anew."
    )


def router(server: Server) -> APIRouter:
    events = server.records.events
    routes = APIRouter(prefix="/events", tags=["events"])

    @routes.get("", responses=problems())
    def list_events(
        after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last one you know.")] = 0,
        project_id: Annotated[int | None, Query(ge=1, le=MOST_ID)] = None,
        limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    ) -> EventsTold:
        """Events say that something changed; what it is now, the thing itself tells."""
        # Looked up first: what comes in between is told, and told again next time at worst.
        newest = events.last_number()
        found = events.since(after, limit, project_id)
        told = [_told(event) for event in found.events]
        seen = told[-1].number if told else 0
        return EventsTold(
            events=told,
            last=seen if len(told) == limit else max(seen, newest),
            is_complete=found.is_complete and after <= max(seen, newest),
        )

    return routes


def _told(event: Event) -> EventTold:
    return EventTold(
        number=event.number,
        kind=event.kind,
        project_id=event.project_id,
        payload=event.payload,
        created_at=event.created_at,
    )
