"""How far a running job is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from modeldyno.core.documents.described import Amount, Count, Described, RunName, Size
from modeldyno.core.jobs import CellProgress, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProgressDocument(Described):
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
    cells: tuple[CellProgressDocument, ...] = ()
    """Of a benchmark."""

    @classmethod
    def of(cls, progress: Progress | None, units_planned: int, **others: Any) -> Self:
        """``units_planned`` counts as long as nothing was heard of it."""
        if progress is None:
            return cls(units_planned=units_planned, **others)
        cells = tuple(
            CellProgressDocument.from_fields(cell, estimate_ms=_ms(cell.estimate_s))
            for cell in progress.cells
        )
        ms = _ms(progress.estimate_s)
        return cls.from_fields(progress, estimate_ms=ms, cells=cells, **others)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgressDocument(ProgressDocument):
    """The same of one job, as an event tells it."""

    id: Size
    """Number of the job."""
    run_id: RunName
    """The run that it is."""


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1e3


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
