"""Lists, page by page: what a client may ask for, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from modeldyno.api.v1.shape import MOST_ID, Told, answer
from modeldyno.core.ids import ProjectId
from modeldyno.core.pages import Page, Wanted

T = TypeVar("T")
V = TypeVar("V")

MOST = 200


class ListAsked(BaseModel):
    """Conditions are joined by "and"; what a list does not know, it refuses."""

    model_config = ConfigDict(extra="forbid")

    project_id: Annotated[int | None, Field(ge=1, le=MOST_ID)] = None
    engine: Annotated[str | None, Field(max_length=50)] = None
    state: (
        Literal["draft", "queued", "running", "done", "failed", "cancelled", "interrupted"] | None
    ) = None
    text: Annotated[str, Field(max_length=200, description="A part of the name.")] = ""
    since: Annotated[datetime | None, Field(description="Created then or later.")] = None
    until: Annotated[datetime | None, Field(description="Created before.")] = None
    sort: Annotated[str, Field(max_length=20, examples=["created", "name", "latency"])] = "created"
    order: Literal["ascending", "descending"] = "descending"
    limit: Annotated[int, Field(ge=1, le=MOST)] = 20
    cursor: Annotated[
        str | None, Field(max_length=1000, description="`next` of the page before.")
    ] = None

    def wanted(self) -> Wanted:
        return Wanted(
            project_id=ProjectId(self.project_id) if self.project_id else None,
            engine=self.engine,
            state=self.state,
            text=self.text,
            since=self.since,
            until=self.until,
            sort=self.sort,
            descending=self.order == "descending",
            limit=self.limit,
            cursor=self.cursor,
        )


async def _listed(request: Request) -> ListAsked:
    """As ``Annotated[ListAsked, Query()]`` would, much sooner; lists are asked for often.

    ``LISTED`` tells OpenAPI what may stand in the query. Without ``async`` it would take a thread.
    """
    try:
        return ListAsked.model_validate(dict(request.query_params))
    except ValidationError as error:
        raise RequestValidationError(
            [{**found, "loc": ("query", *found["loc"])} for found in error.errors()]
        ) from error


Listed = Annotated[ListAsked, Depends(_listed)]


def _parameters() -> list[dict[str, Any]]:
    described = ListAsked.model_json_schema()["properties"]
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema.pop("description", ""),
            "schema": schema,
        }
        for name, schema in described.items()
    ]


LISTED: dict[str, Any] = {"parameters": _parameters()}  # for ``openapi_extra=`` of a list


class PageTold(Told, Generic[T]):
    items: list[T]
    next: str | None = Field(None, description="The cursor of the next page; null: that was all.")


def told(page: Page[V], shape: Callable[[V], T]) -> PageTold[T]:
    return PageTold(items=[shape(item) for item in page.items], next=page.next)


def page_answer(page: Page[V], shape: Callable[[V], dict[str, Any]]) -> Response:
    """The same from plain values; see ``shape.answer``."""
    return answer({"items": [shape(item) for item in page.items], "next": page.next})
