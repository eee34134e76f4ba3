"""The jobs of a server: what it measures, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modeldyno.core.documents.described import Count, Described, RunName, Size
from modeldyno.core.documents.progress import ProgressDocument
from modeldyno.core.runs import ACTIVE, RunKind, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDocument(Described):
    """A run that waits or executes; afterwards, what became of it."""

    id: Size
    """Its number."""
    run_id: RunName
    """The run that it is."""
    kind: RunKind
    """What is run."""
    of_id: Size
    """Number of the benchmark, comparison and so on."""
    name: str
    """Of that benchmark, comparison and so on."""
    project_id: Size
    """Number of its project."""
    state: RunState
    """Where it is."""
    place: Size | None
    """In the queue, from 1; null when it does not wait."""
    reason: str
    """Why it waits, or what became of it."""
    priority: int
    """Higher goes first."""
    attempts: Count
    """How often it was started."""
    queued_at: datetime
    """In UTC."""
    started_at: datetime | None
    """In UTC."""
    finished_at: datetime | None
    """In UTC."""
    progress: ProgressDocument | None
    """How far it is while it runs, else null."""

    @property
    def is_over(self) -> bool:
        return self.state not in ACTIVE

    @property
    def estimate_ms(self) -> float | None:
        return self.progress.estimate_ms if self.progress else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsDocument(Described):
    """What `modeldyno jobs ls --json` gives; `cancel` and `resume` give the jobs they change."""

    schema: Literal["modeldyno.jobs/1"] = "modeldyno.jobs/1"
    """Name and version of this format."""
    jobs: tuple[JobDocument, ...]
    """The newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreDocument(Described):
    """A core that may be measured on, and who does."""

    core: Count
    """A CPU, as the system numbers it."""
    job_id: Size | None = None
    """Null: no job of this server measures on it."""
    since: datetime | None = None
    """When the job took it."""
    used_by: str | None = None
    """Another process on this machine that measures on it: modeldyno pid 4711; null: none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDocument(Described):
    """What runs, what waits, and who has which core."""

    is_paused: bool
    """What runs goes on; nothing else begins."""
    cores: tuple[CoreDocument, ...]
    """Those that may be measured on. A job that measures has its cores to itself."""
    running: tuple[JobDocument, ...]
    """What is measured now."""
    waiting: tuple[JobDocument, ...]
    """In the order in which they will begin."""
