"""``/api/v1/events``: what changed, for those who were away or do without Socket.IO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field, TypeAdapter

from modeldyno.api.v1.shape import MOST_ID, Told, answer, problems
from modeldyno.core.events import EventMessage, KeptMessage, message_of

if TYPE_CHECKING:
    from modeldyno.store.records.events import Events

MOST = 500
_LARGEST = 2**53 - 1


_EXAMPLE = {
    "number": 42,
    "kind": "runnable.created",
    "project_id": 1,
    "at": "2026-11-15T09:51:16.123456Z",
    "data": {"kind": "benchmark", "id": 7},
}


class EventsTold(Told):
    """Of the same shape as those that Socket.IO tells."""

    events: list[Annotated[KeptMessage, Field(discriminator="kind")]] = Field(
        description="Oldest first.", examples=[[_EXAMPLE]]
    )
    last: int = Field(description="What to ask `after` next time.", examples=[42])
    is_complete: bool = Field(
        description="False: some that you missed are not kept any more, so fetch everything anew."
    )


def router(events: Events) -> APIRouter:
    routes = APIRouter(prefix="/events", tags=["events"])

    @routes.get("", response_model=EventsTold, responses=problems())
    def list_events(
        after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last one you know.")] = 0,
        project_id: Annotated[int | None, Query(ge=1, le=MOST_ID)] = None,
        limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    ) -> Response:
        """Events say that something changed; what it is now, the thing itself tells."""
        # Looked up first: what comes in between is told, and told again next time at worst.
        newest = events.last_number()
        found = events.since(after, limit, project_id)
        told = [message_of(event) for event in found.events]
        seen = told[-1]["number"] if told else 0
        return answer(
            {
                "events": told,
                "last": seen if len(told) == limit else max(seen, newest),
                "is_complete": found.is_complete and after <= max(seen, newest),
            }
        )

    return routes


def message_schemas() -> dict[str, Any]:
    """Components for all that Socket.IO tells: ``EventMessage`` is one of them."""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[EventMessage, Field(discriminator="kind")])
    schema = adapter.json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    parts: dict[str, Any] = schema.pop("$defs")
    return parts | {"EventMessage": schema}
