"""How ``/api`` writes what all its answers have: moments, states, reasons, and lists that have no
pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from modeldyno.api.errors import sentences
from modeldyno.core.ids import ProjectId
from modeldyno.core.redaction import without_folders
from modeldyno.core.runs import ACTIVE, LARGEST_PAGE, LatestRun, ListQuery, Page, Runnable, State

T = TypeVar("T")
Json = dict[str, Any]
STATUS: dict[State, str | None] = {
    "draft": None,
    "queued": None,
    "running": "wip",
    "done": "success",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a shape needs beside the document: what this server has, and where. Paths are those of
    the latest run."""

    model: Json | None
    dataset: Json
    config: str | None = None
    log: str | None = None
    unfit: str = ""  # that the dataset is not what the model is fed
    cores: int = 0  # that may be measured on
    reason: str = ""  # of the latest run's job, for details of one thing


def head_shape(runnable: Any) -> Json:
    return {"project_id": runnable.project_id, "id": runnable.id, "name": runnable.name}


def state_shape(
    runnable: Runnable, latest: LatestRun | None, whole: Callable[[float], int] = round
) -> Json:
    """``whole`` makes seconds of how long the latest run took."""
    return {
        "status": STATUS.get(runnable.state, "error"),
        "created_at": moment(runnable.created_at),
        "last_run_at": moment(runnable.last_run_at),
        "duration": seconds(latest, whole),
    }


def note_shape(latest: LatestRun | None, place: Place, *more: str) -> str:
    """Why it is not done, and where it is not what was requested."""
    notes = (why_not_done(latest, place.reason), place.unfit, *more)
    return "; ".join(note for note in notes if note)


def everything(
    page: Callable[[ListQuery], Page[T]], project_id: ProjectId | None = None
) -> Iterator[T]:
    """All there is, oldest first."""
    cursor = None
    while True:
        found = page(
            ListQuery(project_id=project_id, descending=False, limit=LARGEST_PAGE, cursor=cursor)
        )
        yield from found.items
        cursor = found.next
        if cursor is None:
            return


def moment(at: datetime | None) -> str:
    """UTC; one that is not there is the text "None", which is what its clients know."""
    return "None" if at is None else at.astimezone(UTC).isoformat(" ", "seconds")[:19]


def seconds(run: LatestRun | None, whole: Callable[[float], int] = round) -> int | None:
    if run is None or run.started_at is None or run.finished_at is None:
        return None
    return whole((run.finished_at - run.started_at).total_seconds())


def why_not_done(latest: LatestRun | None, reason: str) -> str:
    """Empty of what is done or not over. Without the ``reason`` of its job, it is not known who
    cancelled or interrupted it: lists do not ask for each."""
    if latest is None or latest.state == "done" or latest.state in ACTIVE:
        return ""
    if latest.failure is not None:
        return in_words(latest.failure)
    return begun(reason or f"it was {latest.state}")


def in_words(failure: Mapping[str, str]) -> str:
    return begun(sentences(*(failure.get(part, "") for part in ("title", "why", "fix"))))


def begun(message: str) -> str:
    told = without_folders(message)
    return told[:1].upper() + told[1:]
