"""A run: its state, the moves it may make, and the figures that lists show of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from modeldyno.core.documents.described import KindSchema
from modeldyno.core.ids import JobId, RunId

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


@dataclass(frozen=True, kw_only=True)
class Sureness:
    """How far to trust the figures beside it. An interval is over sessions, so there is none below
    four of them."""

    floor_low_s: float | None = None
    floor_high_s: float | None = None
    typical_low_s: float | None = None
    typical_high_s: float | None = None
    throughput_low_per_s: float | None = None
    throughput_high_per_s: float | None = None
    interval_level: float | None = None  # 0.95, or more where the data chose the moment to stop
    sessions: int | None = None
    samples: int | None = None
    noise: str | None = None
    noise_reasons: str | None = None  # a sentence a line
    peak_memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunSummary(Sureness):
    """What a list shows of a run: of several cells the one with the lowest typical latency."""

    engine: str | None = None
    device: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    cores: int | None = None
    instances: int | None = None
    streams: int | None = None  # None: one
    floor_s: float | None = None
    typical_s: float | None = None
    throughput_per_s: float | None = None
    accuracy: float | None = None
    verdict: str | None = None  # of a comparison
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None

    @property
    def items(self) -> int:
        """Of one call."""
        return (self.batch_size or 1) * (self.streams or 1)


@dataclass(frozen=True, kw_only=True)
class CellOutcome(Sureness):
    """How one cell of a run came out; ``number`` is its place in the spec."""

    number: int
    status: Literal["done", "partial", "failed"]
    engine: str
    device: str
    precision: str | None
    batch_size: int
    cores: int
    instances: int
    floor_s: float | None = None
    typical_s: float | None = None
    throughput_per_s: float | None = None
    error_code: str | None = None
    error: dict[str, str] | None = None  # code, title, why, fix
    streams: int = 1
    effective: dict[str, Any] | None = None  # as what it ran: see core/summaries.py
    run_id: RunId | None = field(default=None, compare=False)  # None before it is kept

    @property
    def items(self) -> int:
        """Of one call."""
        return self.batch_size * self.streams


@dataclass(frozen=True, kw_only=True)
class Runnable:
    """What benchmarks, comparisons, optimizations and profiles show of their latest run."""

    created_at: datetime
    state: State = "draft"
    last_run_at: datetime | None = None
    summary: RunSummary = field(default_factory=RunSummary)


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
class Run:
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
    failure: dict[str, str] | None = None  # code, title, why, fix
    summary: RunSummary = field(default_factory=RunSummary)
