"""Several sides, each compared with the first one: who comes before whom, as far as one can tell.

Ratios of two sides to the first one are known with intervals. Where those overlap, nobody is put
before the other, and both have the same place. What computes something else, or in another
precision, has no place at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.results import ComparisonResult, Estimate, Failure, Noise, SideResult
from modeldyno.core.sessions import Parity

FIRST = Estimate(1.0, 1.0, 1.0, 0.95, 0, "pairs")  # of the first side to itself


@dataclass(frozen=True)
class Ranked:
    """One side; ``ratio`` is its time per item by that of the first."""

    label: str
    side: SideResult | None = None  # None: it could not be measured
    ratio: Estimate | None = None
    parity: Parity | None = None  # of its outputs to those of the first
    run_id: str | None = None  # of the comparison with the first
    noise: Noise | None = None
    failure: Failure | None = None
    unranked: str = ""  # why it has no place
    place: int | None = None  # from 1; several may have the same


@dataclass(frozen=True)
class Ranking:
    sides: tuple[Ranked, ...]  # as asked for; the first that could be measured is what others …
    reference: str  # … are held against
    interrupted: bool = False

    def floor_s(self, one: Ranked) -> float | None:
        """Of a call, by its ratio to the reference: levels of different moments do not compare."""
        first = next((x.side for x in self.sides if x.side and x.run_id is None), None)
        if first is None or one.side is None or one.ratio is None:
            return None
        return one.ratio.value * first.floor_s * one.side.items / first.items

    def __str__(self) -> str:
        """The table of the terminal."""
        from modeldyno.core.plain import ranking_text

        return ranking_text(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``modeldyno compare --engine all --json`` prints."""
        from modeldyno.core import exports, public

        return exports.deliver(exports.json_text(public.ranking_json(self)), path)


def first_of(found: Sequence[ComparisonResult]) -> Ranked:
    """The side that all were compared with, when it was disturbed least."""
    side = min((one.a for one in found), key=lambda side: side.floor_s)
    return Ranked(side.label, side=side, ratio=FIRST)


def other_of(found: ComparisonResult) -> Ranked:
    return Ranked(
        found.b.label,
        side=found.b,
        ratio=found.ratio,
        parity=found.parity,
        run_id=found.run_id,
        noise=found.noise,
        unranked=_unranked(found),
    )


def _unranked(found: ComparisonResult) -> str:
    if found.parity is not None and not found.parity.agrees:
        return f"its outputs differ by {found.parity.max_rel_error:.2g} of the largest value"
    if found.parity is None:
        return "its outputs cannot be compared with those of the first"
    if (mine := found.b.contract) != (theirs := found.a.contract):
        return f"its call is {mine}, that of the first is {theirs}"
    a, b = found.a.facts.precision, found.b.facts.precision
    if a is not None and b is not None and set(a.split("+")) != set(b.split("+")):
        return f"computes in {b}, the first in {a}"
    return ""


def placed(sides: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """A side's place is one more than the number of those that are surely quicker."""
    running = [one.ratio for one in sides if one.ratio is not None and not one.unranked]

    def place(one: Ranked) -> int | None:
        if one.ratio is None or one.unranked:
            return None
        return 1 + sum(other.high < one.ratio.low for other in running)

    return tuple(replace(one, place=place(one)) for one in sides)
