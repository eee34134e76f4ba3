"""``/api/v1/events``: what changed, for those who were away or do without Socket.IO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response

from modeldyno.api.schemas import schema_of
from modeldyno.api.v1.shape import MOST_ID, answer, gives
from modeldyno.core.documents.described import ByKind
from modeldyno.core.events import EventMessage, EventsDocument, message_of

if TYPE_CHECKING:
    from modeldyno.store.records.events import EventRecords

MOST = 500
_LARGEST = 2**53 - 1


def router(events: EventRecords) -> APIRouter:
    routes = APIRouter(prefix="/events", tags=["events"])

    @routes.get("", **gives(EventsDocument))
    def list_events(
        after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last one you know.")] = 0,
        project_id: Annotated[int | None, Query(ge=1, le=MOST_ID)] = None,
        limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    ) -> Response:
        """Events say that something changed; what it is now, the thing itself tells."""
        # Looked up first: an event in between is sent now, and at worst once more next time.
        newest = events.last_number()
        missed = events.since(after, limit, project_id)
        messages = [message_of(event) for event in missed.events]
        newest_sent = messages[-1]["number"] if messages else 0
        return answer(
            {
                "events": messages,
                "last": newest_sent if len(messages) == limit else max(newest_sent, newest),
                "is_complete": missed.is_complete and after <= max(newest_sent, newest),
            }
        )

    return routes


def message_schemas() -> dict[str, Any]:
    """Components for all that Socket.IO sends: ``EventMessage`` is one of them."""
    schema = schema_of(Annotated[EventMessage, ByKind()], "#/components/schemas/{model}")
    parts: dict[str, Any] = schema.pop("$defs")
    return parts | {"EventMessage": schema}
