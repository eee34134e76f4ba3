"""What a server tells, as values: what ``core`` has is used as it is, the rest stands here.

Times are in UTC. Latencies are in milliseconds where a name says so, as in the API's JSON; results
(``runs.result``) are those of ``modeldyno.bench`` and ``modeldyno.compare``, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.jobs import Artifact
from modeldyno.core.runs import RunKind, RunState, State

EMPTY = SummaryDocument()


@dataclass(frozen=True, kw_only=True)
class ProjectDetails:
    id: int
    name: str
    created_at: datetime
    modified_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelSeen:
    """A model of a project; ``state`` says whether it can run, ``missing`` what it lacks."""

    id: int
    project_id: int
    name: str
    format: str | None = None
    framework: str = ""
    sha256: str | None = None
    size_bytes: int | None = None
    precision: str = ""
    origin: str = ""
    state: str = ""
    missing: tuple[str, ...] = ()
    created_at: datetime | None = None
    facts: dict[str, Any] | None = None  # as `modeldyno inspect --json` prints
    trust: dict[str, Any] | None = None

    def keeps(self, sha256: str) -> bool:
        """The server has these bytes itself, and read them. A file that a terminal measured stayed
        where it lay: it may be unread, changed or gone."""
        is_read = self.state in ("ready", "untrusted")
        return self.sha256 == sha256 and is_read and self.origin != "terminal"


@dataclass(frozen=True, kw_only=True)
class LatestRunSeen:
    id: str
    state: RunState
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    failure: FailureDocument | None = None
    job_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class BenchmarkSeen:
    """A benchmark; lists leave out what comes after ``summary``."""

    id: int
    project_id: int
    name: str
    state: State
    model_id: int
    model_name: str = ""
    mode: str = "performance"
    created_at: datetime | None = None
    last_run_at: datetime | None = None
    rerun_of: int | None = None
    summary: SummaryDocument = EMPTY
    modified_at: datetime | None = None
    dataset_id: int | None = None
    settings: dict[str, Any] | None = None
    cells: tuple[CellDocument, ...] = ()
    latest_run: LatestRunSeen | None = None
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class ComparisonSeen:
    id: int
    project_id: int
    name: str
    state: State
    a_model_id: int
    b_model_id: int
    created_at: datetime | None = None
    last_run_at: datetime | None = None
    summary: SummaryDocument = EMPTY
    rerun_of: int | None = None
    pairing: dict[str, Any] | None = None
    latest_run: LatestRunSeen | None = None
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class ProfileSeen:
    """A profile; lists leave out what comes after ``summary``."""

    id: int
    project_id: int
    name: str
    state: State
    model_id: int
    model_name: str = ""
    created_at: datetime | None = None
    last_run_at: datetime | None = None
    summary: SummaryDocument = EMPTY
    modified_at: datetime | None = None
    dataset_id: int | None = None
    settings: dict[str, Any] | None = None
    latest_run: LatestRunSeen | None = None
    agreement: dict[str, Any] | None = None  # how far its rows agree with the latency
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class RunSeen:
    """One execution; lists leave out what comes after ``summary``."""

    id: str
    kind: RunKind
    of_id: int
    project_id: int
    state: RunState
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tool_version: str | None = None
    failure: FailureDocument | None = None
    summary: SummaryDocument = EMPTY
    job_id: int | None = None
    cells: tuple[CellDocument, ...] = ()
    settings: dict[str, Any] | None = None
    pairing: dict[str, Any] | None = None
    profiling: dict[str, Any] | None = None
    units_kept: tuple[int, ...] = ()
    has_result: bool | None = None
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EventHeard:
    """``number`` is None for progress, which is not kept."""

    number: int | None
    kind: str
    project_id: int | None
    at: datetime | None
    data: dict[str, Any]


MISSED = "events.missed"  # what was forgotten before we came back: fetch everything anew


@dataclass(frozen=True)
class EventsFound:
    events: tuple[EventHeard, ...]
    last: int
    is_complete: bool
