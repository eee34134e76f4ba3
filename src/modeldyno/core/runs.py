"""A run: its state, and the moves it may make."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from modeldyno.core.documents.described import KindSchema
from modeldyno.core.ids import JobId, RunId

if TYPE_CHECKING:
    from modeldyno.core.documents.summary import SummaryDocument

RunState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
State = Literal["draft"] | RunState  # of what can be run: a draft has not been yet
RunKind = Annotated[str, KindSchema()]  # one of core/kinds.py

MOVES: dict[RunState, tuple[RunState, ...]] = {
    "queued": ("running", "failed", "cancelled", "interrupted"),
    "running": ("done", "failed", "cancelled", "interrupted"),
    "done": ("running",),  # another run of the same benchmark adds units
    "failed": ("queued", "running"),
    "cancelled": ("queued", "running"),
    "interrupted": ("queued", "running"),
}
ACTIVE: tuple[RunState, ...] = ("queued", "running")


def may_move(before: RunState, after: RunState) -> bool:
    return after in MOVES[before]


def way(before: RunState, after: RunState) -> tuple[RunState, ...]:
    """The shortest legal way there: for who looks now and then, and missed what was between."""
    ways: deque[tuple[RunState, ...]] = deque([()])
    while True:
        so_far = ways.popleft()
        here = so_far[-1] if so_far else before
        if here == after:
            return so_far
        ways.extend((*so_far, there) for there in MOVES[here] if there not in so_far)


class Summarised:
    """What lists show of a run, as the text that it was written as."""

    summary_json: str  # a SummaryDocument

    @property
    def summary(self) -> SummaryDocument:
        return read_summary(self.summary_json)


def read_summary(text: str) -> SummaryDocument:
    from modeldyno.core.documents.summary import SummaryDocument

    return SummaryDocument.read(text)


@dataclass(frozen=True, kw_only=True)
class Runnable(Summarised):
    """What benchmarks, comparisons, optimizations and profiles show of their latest run."""

    created_at: datetime
    state: State = "draft"
    last_run_at: datetime | None = None
    summary_json: str = "{}"


@dataclass(frozen=True, kw_only=True)
class LatestRun:
    """What details show of the run that a thing had last."""

    id: RunId
    state: RunState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    failure: dict[str, str] | None
    job_id: JobId | None  # None of a run of the terminal


@dataclass(frozen=True)
class RunOf:
    """Whose run it is."""

    kind: RunKind
    id: int


@dataclass(frozen=True, kw_only=True)
class Run(Summarised):
    """One execution, as the database knows it; its files are in ``runs/<id>`` of the workspace."""

    id: RunId
    of: RunOf
    project_id: int
    state: RunState
    spec: dict[str, Any]  # as in spec.json
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tool_version: str | None = None
    machine: str | None = None  # that measured it; None: unknown
    failure: dict[str, str] | None = None  # code, title, why, fix
    summary_json: str = "{}"
