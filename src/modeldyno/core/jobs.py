"""The one protocol of every job: a spec goes in, these come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from modeldyno.core.artifacts import Artifact
from modeldyno.core.results import Failure

Result = Any  # what runs of a kind end with: see core/kinds.py


@dataclass(frozen=True)
class Started:
    headline: str  # for anybody's eyes: names of files, no folders
    units_planned: int
    model_sha256: str = ""  # of a comparison both, joined by a plus
    machine: str | None = None  # on which it is measured
    kind: Literal["started"] = "started"


@dataclass(frozen=True)
class CellProgress:
    name: str
    sessions: int
    state: Literal["measuring", "done", "failed"]
    estimate_s: float | None
    relative_half_width: float | None


@dataclass(frozen=True)
class Progress:
    """Where a job stands; sent after a unit is durable, never while something is measured."""

    units_done: int
    units_planned: int
    doing: str
    estimate_s: float | None = None
    relative_half_width: float | None = None
    remaining_s: float | None = None
    ratio: float | None = None
    cells: tuple[CellProgress, ...] = ()
    kind: Literal["progress"] = "progress"

    @property
    def is_waiting(self) -> bool:
        """For cores that others use (``jobs/leases.py``): nothing is measured meanwhile."""
        return self.doing.startswith("waiting")


@dataclass(frozen=True)
class Unit:
    """Something measured that is never lost again: a session of a cell, a pair, or a repeat."""

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


JobMessage = Started | Progress | Unit | Artifact | Finished | Failed
