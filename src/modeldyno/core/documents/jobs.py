"""The jobs of a server: what it measures, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modeldyno.core.documents.described import Amount, Count, Described, RunName, Size
from modeldyno.core.events import CellStanding
from modeldyno.core.jobs import CellProgress, Progress
from modeldyno.core.queue import Job
from modeldyno.core.runs import ACTIVE, RunKind, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressDocument(Described):
    """How far a running job is: units are sessions of cells, or pairs of a comparison."""

    headline: str = ""
    """The model's name."""
    units_done: Count = 0
    """Sessions or pairs that are kept."""
    units_planned: Count = 0
    """How many there will be."""
    doing: str = ""
    """What happens right now."""
    estimate_ms: Amount | None = None
    """The latency so far."""
    relative_half_width: Amount | None = None
    """Half its interval, as a share of it."""
    remaining_s: Amount | None = None
    """About how much longer."""
    ratio: Amount | None = None
    """Of a comparison: time(B) / time(A) so far."""
    cells: tuple[CellStanding, ...] = ()
    """Of a benchmark."""

    def progress(self) -> Progress:
        """As listeners of ``modeldyno.bench`` get it."""
        return Progress(
            self.units_done,
            self.units_planned,
            self.doing,
            _seconds(self.estimate_ms),
            self.relative_half_width,
            self.remaining_s,
            self.ratio,
            tuple(
                CellProgress(
                    cell.name,
                    cell.sessions,
                    cell.state,
                    _seconds(cell.estimate_ms),
                    cell.relative_half_width,
                )
                for cell in self.cells
            ),
        )


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1e3


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

    @classmethod
    def of(
        cls, job: Job, place: int | None, reason: str, progress: ProgressDocument | None = None
    ) -> JobDocument:
        return cls(
            id=job.id,
            run_id=job.run_id,
            kind=job.kind,
            of_id=job.of_id,
            name=job.name,
            project_id=job.project_id,
            state=job.state,
            place=place,
            reason=reason,
            priority=job.priority,
            attempts=job.attempts,
            queued_at=job.queued_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            progress=progress,
        )

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
