"""How ``/api`` writes what all its answers have: moments, states, and lists that have no pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from modeldyno.core.ids import ProjectId
from modeldyno.core.pages import LARGEST_PAGE, Page, Wanted
from modeldyno.core.runs import State

T = TypeVar("T")


def everything(
    page: Callable[[Wanted], Page[T]], project_id: ProjectId | None = None
) -> Iterator[T]:
    """All there is, oldest first."""
    cursor = None
    while True:
        found = page(
            Wanted(project_id=project_id, descending=False, limit=LARGEST_PAGE, cursor=cursor)
        )
        yield from found.items
        cursor = found.next
        if cursor is None:
            return


def moment(at: datetime | None) -> str:
    """UTC; one that is not there is the text "None", which is what its clients know."""
    return "None" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def status(state: State) -> str | None:
    match state:
        case "draft" | "queued":
            return None
        case "running":
            return "wip"
        case "done":
            return "success"
        case _:
            return "error"
