"""Several sides, each compared with the reference: who comes before whom, as far as one can tell.

The reference is the first side that works. Ratios of two sides to it are known with intervals.
Where those overlap, nobody is put before the other, and both have the same place. What computes
something else, or in another precision, has no place at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.results import (
    BenchmarkResult,
    ComparisonResult,
    Estimate,
    Failure,
    Noise,
    SideResult,
)
from modeldyno.core.sessions import Parity

FIRST = Estimate(1.0, 1.0, 1.0, 0.95, 0, "pairs")  # of the reference to itself


@dataclass(frozen=True)
class Ranked:
    """One side; ``ratio`` is its time per item by that of the reference."""

    label: str
    side: SideResult | None = None  # None: it could not be measured
    ratio: Estimate | None = None
    parity: Parity | None = None  # of its outputs to those of the reference
    run_id: str | None = None  # of the comparison with the reference, or of the run alone
    noise: Noise | None = None
    failure: Failure | None = None
    unranked: str = ""  # why it has no place
    place: int | None = None  # from 1; several may have the same
    alone: bool = False  # measured by itself, not in alternation with the reference


@dataclass(frozen=True)
class Ranking:
    sides: tuple[Ranked, ...]  # as asked for
    reference: str  # the side that the others were compared with; empty: there is none
    interrupted: bool = False

    def floor_s(self, one: Ranked) -> float | None:
        """Of a call, by its ratio to the reference: levels of different moments do not compare."""
        if one.side is None or one.alone:
            return one.side.floor_s if one.side else None
        first = next((x.side for x in self.sides if x.label == self.reference), None)
        if first is None or one.ratio is None:
            return None
        return one.ratio.value * first.floor_s * one.side.items / first.items

    def __str__(self) -> str:
        """The table of the terminal."""
        from modeldyno.present.plain import ranking_text

        return ranking_text(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``modeldyno compare --engine all --json`` prints."""
        from modeldyno.core.documents.described import json_text
        from modeldyno.core.documents.rankings import RankingDocument
        from modeldyno.core.exports import deliver

        return deliver(json_text(RankingDocument.of(self)), path)


def reference_of(levels: Sequence[SideResult]) -> Ranked:
    """The side that all were compared with, when it was disturbed least."""
    side = min(levels, key=lambda side: side.floor_s)
    return Ranked(side.label, side=side, ratio=FIRST)


def other_of(comparison: ComparisonResult) -> Ranked:
    """B, where A is the reference."""
    return _compared(comparison, comparison.b, comparison.a, comparison.ratio)


def inverse_of(comparison: ComparisonResult) -> Ranked:
    """A, where B is the reference."""
    return _compared(comparison, comparison.a, comparison.b, comparison.ratio.inverse)


def _compared(
    comparison: ComparisonResult, side: SideResult, reference: SideResult, ratio: Estimate
) -> Ranked:
    return Ranked(
        side.label,
        side=side,
        ratio=ratio,
        parity=comparison.parity,
        run_id=comparison.run_id,
        noise=comparison.noise,
        unranked=_unranked(side, reference, comparison.parity),
    )


def measured_alone(label: str, result: BenchmarkResult) -> Ranked | None:
    """From a benchmark of this side only; None where it has no number."""
    (cell,) = result.cells
    if cell.measurement is None or cell.facts is None:
        return None
    latency = cell.measurement.latency
    return Ranked(
        label,
        side=SideResult(
            label=label,
            spec=cell.spec,
            model=result.model,
            facts=cell.facts,
            floor_s=latency.decisive.value,
            typical_s=latency.typical.value,
            batch_size=cell.batch_size,
            sandbox=cell.sandbox,
        ),
        run_id=result.run_id,
        noise=cell.measurement.noise,
        failure=cell.error,
        alone=True,
    )


def _unranked(side: SideResult, reference: SideResult, parity: Parity | None) -> str:
    if parity is None:
        return f"its outputs cannot be compared with those of {reference.label}"
    if not parity.agrees:
        far = f"{parity.max_rel_error:.2g} of the largest value"
        return f"its outputs differ from those of {reference.label} by {far}"
    if side.contract != reference.contract:
        return f"its call is {side.contract}, that of {reference.label} is {reference.contract}"
    mine, theirs = side.facts.precision, reference.facts.precision
    if mine is not None and theirs is not None and set(mine.split("+")) != set(theirs.split("+")):
        return f"it computes in {mine}, {reference.label} in {theirs}"
    return ""


def ranking_remarks(ranking: Ranking) -> list[str]:
    """What the table does not say: why which side is the reference, or has no place."""
    said = [f"{one.label} has no place: {one.unranked}" for one in ranking.sides if one.unranked]
    reference = next((one for one in ranking.sides if one.label == ranking.reference), None)
    if reference is None:
        return said
    if reference.alone:
        return [*said, f"{reference.label} was measured alone: no other side could be measured"]
    first = ranking.sides[0]
    if first is not reference:
        why = "could not be measured" if first.failure else "is not comparable with the others"
        said.append(f"{reference.label} is the reference, because {first.label} {why}")
    return said


def placed(sides: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """A side's place is one more than the number of those that are surely quicker."""
    running = [one.ratio for one in sides if one.ratio is not None and not one.unranked]

    def place(one: Ranked) -> int | None:
        if one.ratio is None or one.unranked:
            return None
        return 1 + sum(other.high < one.ratio.low for other in running)

    return tuple(replace(one, place=place(one)) for one in sides)
