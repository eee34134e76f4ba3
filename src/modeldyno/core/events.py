"""Events: something changed, fetch it again. Their numbers grow in the order of the changes.

This is the whole vocabulary. Browsers and clients receive *messages*. A stored event has a number,
and a client that reconnects requests those after the last one it received. Progress has no number
and is not stored: the next message supersedes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args

from modeldyno.core.conversions import ConversionState, Goal
from modeldyno.core.documents.described import ByKind, Count, Described
from modeldyno.core.documents.runs import JobProgressDocument
from modeldyno.core.examples import FetchState
from modeldyno.core.notes import SubjectKind
from modeldyno.core.runs import RunKind, RunState


@dataclass(frozen=True, kw_only=True)
class Event:
    number: int
    kind: str  # ``runnable.created``, ``run.changed`` …
    project_id: int | None  # which may have been deleted since
    payload: dict[str, Any] = field(default_factory=dict)
    created_at: datetime


@dataclass(frozen=True)
class EventsSince:
    events: tuple[Event, ...]
    is_complete: bool  # False: older ones are no longer stored, so fetch everything again


# ---------------------------------------------------------------- messages

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


@dataclass(frozen=True, kw_only=True)
class FetchStanding(Described):
    """How far an example is on its way into a project."""

    example: str
    """Its `slug`."""
    state: FetchState
    """Whether it is over."""
    done_bytes: int
    """That are here."""
    total_bytes: int | None
    """Null as long as nobody has said."""
    model_id: int | None
    """The model that became of it, once it is there."""


@dataclass(frozen=True, kw_only=True)
class ConversionStanding(Described):
    """How far a conversion is."""

    id: int
    """Its number."""
    model_id: int
    """What it is made of."""
    to: Goal
    """The format that was requested."""
    state: ConversionState
    """Whether it is over."""
    doing: str
    """The step it is at."""
    steps_done: int
    """So far."""
    steps_planned: int
    """0 as long as it has not begun."""
    made_id: int | None
    """The new model, in the same project, once it is there."""


@dataclass(frozen=True, kw_only=True)
class _Message:
    project_id: int | None
    at: str  # ISO 8601, UTC


@dataclass(frozen=True, kw_only=True)
class _Kept(_Message):
    number: int


@dataclass(frozen=True, kw_only=True)
class _Fleeting(_Message):
    """Not kept, so it has no number."""

    number: None = None


@dataclass(frozen=True, kw_only=True)
class ThingMessage(_Kept):
    data: Thing
    kind: ThingKind


@dataclass(frozen=True, kw_only=True)
class RunnableMessage(_Kept):
    data: RunnableThing
    kind: RunnableEventKind


@dataclass(frozen=True, kw_only=True)
class RunMessage(_Kept):
    data: RunThing
    kind: RunEventKind


@dataclass(frozen=True, kw_only=True)
class NoteMessage(_Kept):
    data: NoteThing
    kind: Literal["note.changed"] = "note.changed"


@dataclass(frozen=True, kw_only=True)
class TrialMessage(_Kept):
    data: TrialThing
    kind: Literal["optimization.trial"] = "optimization.trial"


@dataclass(frozen=True, kw_only=True)
class ProgressMessage(_Fleeting):
    data: JobProgressDocument
    kind: Literal["job.progress"] = "job.progress"


@dataclass(frozen=True, kw_only=True)
class FetchMessage(_Fleeting):
    """That the model is there is told as ``model.created``."""

    data: FetchStanding
    kind: Literal["example.progress"] = "example.progress"


@dataclass(frozen=True, kw_only=True)
class ConversionMessage(_Fleeting):
    """That the model is there is told as ``model.created``."""

    data: ConversionStanding
    kind: Literal["conversion.progress"] = "conversion.progress"


KeptMessage = ThingMessage | RunnableMessage | RunMessage | NoteMessage | TrialMessage
EventMessage = KeptMessage | ProgressMessage | FetchMessage | ConversionMessage

KINDS: tuple[str, ...] = (
    *get_args(ThingKind), *get_args(RunnableEventKind), *get_args(RunEventKind),
    "note.changed", "optimization.trial",
    "job.progress", "example.progress", "conversion.progress",
)  # fmt: skip


def message_of(event: Event) -> dict[str, Any]:
    """The message about an event, as JSON."""
    return {
        "number": event.number,
        "kind": event.kind,
        "project_id": event.project_id,
        "at": iso(event.created_at),
        "data": event.payload,
    }


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDocument(Described):
    """Events, of the same shape as those that Socket.IO sends."""

    events: tuple[Annotated[KeptMessage, ByKind()], ...]
    """Oldest first."""
    last: Count
    """What to ask `after` next time."""
    is_complete: bool
    """False: some that you missed are not kept any more, so fetch everything anew."""
