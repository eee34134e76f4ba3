"""An event: something changed, look again. Numbers only grow, in the order of what happened.

This is the whole vocabulary. Browsers and clients hear *messages*: an event that is kept has a
number, and whoever was away asks for those after the last one heard; progress has none, is not
kept, and the next one makes up for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from modeldyno.core.conversions import Goal
from modeldyno.core.documents.described import Amount, Count, Described
from modeldyno.core.ids import JobId, RunId
from modeldyno.core.jobs import Progress
from modeldyno.core.notes import SubjectKind
from modeldyno.core.runs import RunKind, RunState


@dataclass(frozen=True, kw_only=True)
class Event:
    number: int
    kind: str  # ``runnable.created``, ``run.changed`` …
    project_id: int | None  # may be gone by now
    payload: dict[str, Any] = field(default_factory=dict)
    created_at: datetime


@dataclass(frozen=True)
class EventsSince:
    events: tuple[Event, ...]
    is_complete: bool  # False: older ones were forgotten, so fetch everything anew


# ---------------------------------------------------------------- what is told of it

ThingKind = Literal[
    "project.created", "project.changed", "project.deleted",
    "model.created", "model.changed", "model.deleted",
    "dataset.created", "dataset.deleted",
    "job.changed",
]  # fmt: skip
RunnableEventKind = Literal["runnable.created", "runnable.changed", "runnable.deleted"]
RunEventKind = Literal["run.created", "run.changed", "run.deleted"]


@dataclass(frozen=True)
class Thing:
    id: int


@dataclass(frozen=True)
class RunnableThing:
    """A benchmark, comparison …: whatever can be run."""

    kind: RunKind
    id: int


@dataclass(frozen=True)
class RunThing:
    """A run, and what it is one of."""

    run_id: str
    kind: RunKind
    id: int
    state: RunState | None = None  # None: it is gone


@dataclass(frozen=True)
class NoteThing:
    """A note, and what it is about."""

    kind: SubjectKind
    id: int
    version: int


@dataclass(frozen=True)
class TrialThing:
    id: int  # of the optimization
    run_id: str
    trial: int


@dataclass(frozen=True)
class CellStanding(Described):
    """How far one cell of a running benchmark is."""

    name: str
    """In words: onnxruntime · 1 core · batch 1."""
    sessions: Count
    """That are kept."""
    state: Literal["measuring", "done", "failed"]
    """Whether it is over."""
    estimate_ms: Amount | None
    """The latency so far."""
    relative_half_width: Amount | None
    """Half its interval, as a share of it."""


@dataclass(frozen=True)
class JobStanding:
    """Where a running job stands; milliseconds, as everywhere outside."""

    id: int
    run_id: str
    headline: str
    units_done: int
    units_planned: int
    doing: str = ""
    estimate_ms: float | None = None
    relative_half_width: float | None = None
    remaining_s: float | None = None
    ratio: float | None = None
    cells: tuple[CellStanding, ...] = ()


@dataclass(frozen=True)
class FetchStanding:
    """How far an example is on its way into a project."""

    example: str
    state: Literal["fetching", "done", "failed"]
    done_bytes: int
    total_bytes: int | None
    model_id: int | None  # once it is there


@dataclass(frozen=True)
class ConversionStanding:
    """How far a conversion is."""

    id: int
    model_id: int  # what it is made of
    to: Goal
    state: Literal["converting", "done", "failed", "cancelled"]
    doing: str
    steps_done: int
    steps_planned: int
    made_id: int | None  # once it is there


@dataclass(frozen=True, kw_only=True)
class ThingMessage:
    number: int
    project_id: int | None
    at: str  # ISO 8601, UTC
    data: Thing
    kind: ThingKind


@dataclass(frozen=True, kw_only=True)
class RunnableMessage:
    number: int
    project_id: int | None
    at: str
    data: RunnableThing
    kind: RunnableEventKind


@dataclass(frozen=True, kw_only=True)
class RunMessage:
    number: int
    project_id: int | None
    at: str
    data: RunThing
    kind: RunEventKind


@dataclass(frozen=True, kw_only=True)
class NoteMessage:
    number: int
    project_id: int | None
    at: str
    data: NoteThing
    kind: Literal["note.changed"] = "note.changed"


@dataclass(frozen=True, kw_only=True)
class TrialMessage:
    number: int
    project_id: int | None
    at: str
    data: TrialThing
    kind: Literal["optimization.trial"] = "optimization.trial"


@dataclass(frozen=True, kw_only=True)
class ProgressMessage:
    """Not kept, so it has no number."""

    project_id: int | None
    at: str
    data: JobStanding
    number: None = None
    kind: Literal["job.progress"] = "job.progress"


@dataclass(frozen=True, kw_only=True)
class FetchMessage:
    """Not kept either; that the model is there is told as ``model.created``."""

    project_id: int | None
    at: str
    data: FetchStanding
    number: None = None
    kind: Literal["example.progress"] = "example.progress"


@dataclass(frozen=True, kw_only=True)
class ConversionMessage:
    """Not kept either; that the model is there is told as ``model.created``."""

    project_id: int | None
    at: str
    data: ConversionStanding
    number: None = None
    kind: Literal["conversion.progress"] = "conversion.progress"


KeptMessage = ThingMessage | RunnableMessage | RunMessage | NoteMessage | TrialMessage
EventMessage = KeptMessage | ProgressMessage | FetchMessage | ConversionMessage

KINDS: tuple[str, ...] = (
    *get_args(ThingKind), *get_args(RunnableEventKind), *get_args(RunEventKind),
    "note.changed", "optimization.trial",
    "job.progress", "example.progress", "conversion.progress",
)  # fmt: skip


def message_of(event: Event) -> dict[str, Any]:
    """The JSON form of the message that tells of an event."""
    return {
        "number": event.number,
        "kind": event.kind,
        "project_id": event.project_id,
        "at": iso(event.created_at),
        "data": event.payload,
    }


def progress_message(project_id: int | None, data: JobStanding, now: datetime) -> ProgressMessage:
    return ProgressMessage(project_id=project_id, at=iso(now), data=data)


def standing_of(
    job_id: JobId, run_id: RunId, headline: str, units_planned: int, progress: Progress | None
) -> JobStanding:
    if progress is None:
        return JobStanding(job_id, run_id, headline, 0, units_planned)
    return JobStanding(
        job_id,
        run_id,
        headline,
        progress.units_done,
        progress.units_planned,
        progress.doing,
        _ms(progress.estimate_s),
        progress.relative_half_width,
        progress.remaining_s,
        progress.ratio,
        tuple(
            CellStanding(c.name, c.sessions, c.state, _ms(c.estimate_s), c.relative_half_width)
            for c in progress.cells
        ),
    )


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
