"""The one protocol of every job: a spec goes in, messages come out; and jobs in the queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from modeldyno.core.ids import JobId, RunId
from modeldyno.core.results import Failure
from modeldyno.core.runs import Artifact, RunKind, RunState
from modeldyno.core.specs import CellSpec

Result = Any  # what runs of a kind end with: see core/kinds.py


@dataclass(frozen=True)
class Started:
    headline: str  # without paths: names of files only
    units_planned: int
    model_sha256: str = ""  # of a comparison both, joined by +
    machine: str | None = None  # on which it is measured
    kind: Literal["started"] = "started"


@dataclass(frozen=True)
class Cells:
    """The cells that a benchmark measures, once its model has been read. Units count these, which
    may differ from those requested; a later message replaces an earlier one."""

    cells: tuple[CellSpec, ...]
    kind: Literal["cells"] = "cells"


@dataclass(frozen=True)
class CellProgress:
    name: str
    sessions: int
    state: Literal["measuring", "done", "failed"]
    estimate_s: float | None
    relative_half_width: float | None


@dataclass(frozen=True)
class Progress:
    """How far a job is; sent once a unit is on the disk, never while something is measured."""

    units_done: int
    units_planned: int
    doing: str
    estimate_s: float | None = None
    relative_half_width: float | None = None
    remaining_s: float | None = None
    ratio: float | None = None
    cells: tuple[CellProgress, ...] = ()
    notice: str = ""  # to be kept on the screen, e.g. that it will take longer than its budget
    kind: Literal["progress"] = "progress"

    @property
    def is_waiting(self) -> bool:
        """For cores in use by others (``jobs/leases.py``); nothing is measured meanwhile."""
        return self.doing.startswith("waiting")


class SteadyShare:
    """Units planned, so that the share of them that is done never falls: estimates of how many fit
    the time change with every unit."""

    def __init__(self) -> None:
        self._share = 0.0  # as last reported

    def planned(self, done: int, planned: int) -> int:
        if done < self._share * planned:
            planned = max(done, int(done / self._share))
        if planned:
            self._share = max(self._share, done / planned)
        return planned


def sensible_width(relative: float | None) -> float | None:
    """A relative half-width worth showing: beyond 100 %, not even the first digit is known."""
    return None if relative is None or relative > 1 else relative


@dataclass(frozen=True)
class Unit:
    """A stored measurement: a session of a cell, a pair, or a repeat."""

    cell: int
    process: int
    measured: Any  # of the class that core/kinds.py names
    round: int = 0  # of a sweep
    kind: Literal["unit"] = "unit"


@dataclass(frozen=True)
class Finished:
    result: Result
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True)
class Failed:
    failure: Failure
    kind: Literal["failed"] = "failed"


JobMessage = Started | Cells | Progress | Unit | Artifact | Finished | Failed


@dataclass(frozen=True)
class JobOwner:
    """The process that executes a job. Together the four are unique, even after a reboot."""

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
    name: str  # of the benchmark, comparison …
    project_id: int
    state: RunState
    priority: int  # the highest runs first
    position: int  # at equal priority, the lowest runs first
    reason: str  # why it waits, or how it ended
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
