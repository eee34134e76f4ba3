"""How ``/api`` writes what all its answers have: moments, states, reasons, and lists that have no
pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from modeldyno.api.errors import sentences
from modeldyno.core.ids import ProjectId
from modeldyno.core.pages import LARGEST_PAGE, Page, Wanted
from modeldyno.core.queue import Job
from modeldyno.core.redaction import without_folders
from modeldyno.core.runs import ACTIVE, LatestRun, State

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a shape needs beside the document: what this server has, and where."""

    model: dict[str, Any]
    dataset: dict[str, Any]
    folder: str | None  # of the latest run, once it has begun
    unfit: str = ""  # that the dataset is not what the model is fed
    job: Job | None = None  # of the latest run, for who asks for one thing


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


def seconds(run: LatestRun | None) -> int | None:
    if run is None or run.started_at is None or run.finished_at is None:
        return None
    return round((run.finished_at - run.started_at).total_seconds())


def why_not_done(latest: LatestRun | None, job: Job | None = None) -> str:
    """As its end was told; "" of what is done or not over. Without its ``job``, who cancelled or
    interrupted it is not known: lists do not ask for each."""
    if latest is None or latest.state == "done" or latest.state in ACTIVE:
        return ""
    if latest.failure is not None:
        return in_words(latest.failure)
    return begun((job and job.reason) or f"it was {latest.state}")


def in_words(failure: Mapping[str, str]) -> str:
    return begun(sentences(*(failure.get(part, "") for part in ("title", "why", "fix"))))


def begun(message: str) -> str:
    told = without_folders(message)
    return told[:1].upper() + told[1:]
