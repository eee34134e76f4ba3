"""Two benchmarks that were measured, held against each other."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.documents.benchmarks import RatioDocument
from modeldyno.core.documents.described import Count, Described, Size
from modeldyno.core.judgements import (
    Basis,
    BenchmarkJudgement,
    CellJudgement,
    Judged,
    JudgedCell,
    JudgedSide,
    Setting,
    Side,
    speedup,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellJudgementDocument(Described):
    """Two cells of the same axes."""

    a: JudgedCell
    """What B is held against."""
    b: JudgedCell
    """What is held against A."""
    verdict: Judged
    """Of B, seen from A; `inconclusive`: no clear difference."""
    sentence: str
    """In words: B is 1.31× faster than A (1.24–1.38, 95 %)."""
    why: str
    """Why not comparable, or what to keep in mind; may be empty."""
    faster: Side | None
    """Null unless one clearly is."""
    speedup: RatioDocument | None
    """Of the faster one; null if none is."""
    ratio: RatioDocument | None
    """B's time by A's, per item, of what the work costs (the floor); null when not comparable."""
    typical_ratio: RatioDocument | None
    """The same of typical latencies."""
    basis: Basis | None
    """`alternation`: a comparison measured this pair in turns, which outranks numbers from
    `separate runs`."""
    comparison_id: Size | None
    """Number of that comparison."""
    pairs: Count | None
    """Of sessions, in that comparison."""

    @classmethod
    def of(cls, cell: CellJudgement) -> CellJudgementDocument:
        factor = None
        if cell.ratio is not None and cell.faster is not None:
            low, value, high = speedup(cell.ratio, cell.faster)
            factor = RatioDocument(value=value, low=low, high=high)
        return cls.from_fields(
            cell,
            speedup=factor,
            ratio=RatioDocument.of(cell.ratio),
            typical_ratio=RatioDocument.of(cell.typical_ratio),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDocument(Described):
    """Something that both sides have."""

    name: str
    """In words: engine version."""
    a: str | None
    """As text; null if A does not say."""
    b: str | None
    """As text; null if B does not say."""
    differs: bool
    """Whether they are not the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementDocument(Described):
    """Which of two benchmarks is quicker, cell by cell, with all settings side by side."""

    a: JudgedSide
    """What B is held against."""
    b: JudgedSide
    """What is held against A."""
    sentence: str
    """Of one pair its own; of several, how many went which way."""
    cells: tuple[CellJudgementDocument, ...]
    """Cells of the same axes, pair by pair."""
    unmatched_a: tuple[Count, ...]
    """Cells that B has no counterpart of."""
    unmatched_b: tuple[Count, ...]
    """Cells that A has no counterpart of."""
    settings: tuple[SettingDocument, ...]
    """All of them, of the first pair of cells."""
    settings_differing: Count
    """How many of those are not the same."""
    environment: tuple[SettingDocument, ...]
    """The machines, and what runs on them."""
    environment_differing: Count
    """How many of those are not the same."""

    @classmethod
    def of(cls, judgement: BenchmarkJudgement) -> JudgementDocument:
        return cls.from_fields(
            judgement,
            cells=tuple(map(CellJudgementDocument.of, judgement.cells)),
            settings=tuple(map(SettingDocument.from_fields, judgement.settings)),
            settings_differing=_differing(judgement.settings),
            environment=tuple(map(SettingDocument.from_fields, judgement.environment)),
            environment_differing=_differing(judgement.environment),
        )


def _differing(settings: tuple[Setting, ...]) -> int:
    return sum(setting.differs for setting in settings)
