"""A job: a run that waits or executes, who has it, and which cores it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.ids import JobId, RunId
from modeldyno.core.runs import RunKind, RunState


@dataclass(frozen=True)
class JobOwner:
    """The process at work on a job. The four together are used only once, even after a restart."""

    host: str
    boot_id: str
    pid: int
    started: int  # clock ticks from boot to the process's start


@dataclass(frozen=True, kw_only=True)
class Job:
    id: JobId
    run_id: RunId
    kind: RunKind
    of_id: int  # the number of the benchmark, comparison …
    name: str  # of that
    project_id: int
    state: RunState
    priority: int  # higher goes first
    position: int  # among those of one priority lower goes first
    reason: str  # why it waits, or what became of it
    attempts: int  # how often it was started
    owner: JobOwner | None
    queued_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    request_id: str | None = None  # as a client of `/api` named its request


@dataclass(frozen=True)
class CoreLease:
    host: str
    core: int
    job_id: JobId
    owner: JobOwner
    taken_at: datetime
