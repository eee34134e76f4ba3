"""Several sides, ranked by comparing each with the reference.

The reference is the first side that works. Sides whose ratios to it have overlapping intervals
share a place. A side that computes something else, or in another precision, has no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core import precisions
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
    sides: tuple[Ranked, ...]  # as requested
    reference: str  # the label of the side that the others were compared with; may be empty
    interrupted: bool = False

    def floor_s(self, ranked: Ranked) -> float | None:
        """Per call, by its ratio to the reference: levels of different times do not compare."""
        side, first = ranked.side, next((x.side for x in self.sides if self._is_reference(x)), None)
        if side is None or ranked.alone:
            return side.floor_s if side else None
        if first is None or ranked.ratio is None:
            return None
        return ranked.ratio.value * first.floor_s * side.items / first.items

    def _is_reference(self, ranked: Ranked) -> bool:
        return ranked.label == self.reference

    def __str__(self) -> str:
        """The table of the terminal."""
        from modeldyno.present.plain import ranking_text

        return ranking_text(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``modeldyno compare --engine all --json`` prints."""
        from modeldyno.core.documents.comparisons import RankingDocument
        from modeldyno.core.documents.described import json_text
        from modeldyno.core.exports import write_if_given_path

        return write_if_given_path(json_text(RankingDocument.of(self)), path)


def reference_of(levels: Sequence[SideResult]) -> Ranked:
    """The side that all were compared with, from the least disturbed comparison."""
    side = min(levels, key=lambda side: side.floor_s)
    return Ranked(side.label, side=side, ratio=FIRST)


def other_of(comparison: ComparisonResult) -> Ranked:
    """B, where A is the reference."""
    return _make_ranked(comparison, comparison.b, comparison.a, comparison.ratio)


def inverse_of(comparison: ComparisonResult) -> Ranked:
    """A, where B is the reference."""
    return _make_ranked(comparison, comparison.a, comparison.b, comparison.ratio.inverse)


def _make_ranked(
    comparison: ComparisonResult, side: SideResult, reference: SideResult, ratio: Estimate
) -> Ranked:
    return Ranked(
        side.label,
        side=side,
        ratio=ratio,
        parity=comparison.parity,
        run_id=comparison.run_id,
        noise=comparison.noise,
        unranked=why_unranked(side, reference, comparison.parity),
    )


def measured_alone(label: str, result: BenchmarkResult) -> Ranked | None:
    """From a benchmark of this side only; of a decoder with a cache, from its prefill. None without
    a measurement."""
    cell = result.cells[0]
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
            notes=cell.notes,
        ),
        run_id=result.run_id,
        noise=cell.measurement.noise,
        failure=cell.error,
        alone=True,
    )


def why_unranked(side: SideResult, reference: SideResult, parity: Parity | None) -> str:
    """Empty if it can be ranked with the reference."""
    if parity is None:
        return f"its outputs cannot be compared with those of {reference.label}"
    names = "it", reference.label
    apart = precisions.difference(side.facts.precision, reference.facts.precision, names)
    if not parity.agrees:
        far = f"{parity.max_rel_error:.2g} of the largest value"
        differ = f"its outputs differ from those of {reference.label} by {far}"
        return f"{differ}; {apart}" if apart else differ
    if side.contract != reference.contract:
        return f"its call is {side.contract}, that of {reference.label} is {reference.contract}"
    return apart


def ranking_remarks(ranking: Ranking) -> list[str]:
    """What the table does not say: what was guessed, and why a side is the reference or has no
    place."""
    sides = ranking.sides
    notes = dict.fromkeys(note for each in sides if each.side for note in each.side.notes)
    remarks = [f"note: {note}" for note in notes]
    remarks += [f"{each.label} has no place: {each.unranked}" for each in sides if each.unranked]
    reference = next((each for each in sides if each.label == ranking.reference), None)
    if reference is None:
        return remarks
    if reference.alone:
        return [*remarks, f"{reference.label} was measured alone: no other side could be measured"]
    first = sides[0]
    if first is not reference:
        why = "could not be measured" if first.failure else "is not comparable with the others"
        remarks.append(f"{reference.label} is the reference, because {first.label} {why}")
    return remarks


def with_places(sides: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """A side's place is one more than the number of sides that are clearly faster."""
    ratios = [side.ratio for side in sides if side.ratio is not None and not side.unranked]

    def place(side: Ranked) -> int | None:
        if side.ratio is None or side.unranked:
            return None
        return 1 + sum(ratio.high < side.ratio.low for ratio in ratios)

    return tuple(replace(side, place=place(side)) for side in sides)
