"""Compare several sides with one that works, the reference; a side that fails spoils no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from modeldyno.core.errors import BadValue, Cancelled, ModeldynoError, TimedOut
from modeldyno.core.models import ModelFacts
from modeldyno.core.rankings import (
    FIRST,
    Ranked,
    Ranking,
    inverse_of,
    measured_alone,
    other_of,
    reference_of,
    with_places,
)
from modeldyno.core.requests.measuring import ModelFile, PairingRequest, SideRequest, budget_of
from modeldyno.core.results import ComparisonResult, Failure
from modeldyno.core.specs import (
    DEFAULT,
    BenchmarkSpec,
    Budget,
    ComparisonSpec,
    InferenceSpec,
    InspectionSpec,
    SideSpec,
)
from modeldyno.engines import catalog
from modeldyno.services import requests
from modeldyno.services.runs import Listener, RunService

MOST_SIDES = 30


def rank_models(
    models: Sequence[ModelFile],
    common: SideRequest,
    pairing: PairingRequest,
    runs: RunService,
    listen: Listener | None,
    *,
    in_all: bool,
) -> Ranking:
    """``models`` may carry options of their own after an @; ``common`` is of all sides."""
    by_label = {str(model.path): model for model in models}
    sides = requests.make_sides(by_label.values(), common)
    if in_all:
        sides = repeat_for_every_engine(sides, runs)
    require_sides(sides)
    like = requests.make_comparison_of_sides(sides[0], sides[1], pairing)
    return rank_sides(sides, like, runs, listen, budget_of(pairing.budget))


def repeat_for_every_engine(sides: Sequence[SideSpec], runs: RunService) -> tuple[SideSpec, ...]:
    """Sides that name no engine, once for each that can load them.

    One of several that nobody can read stays as it is: measuring it will say why.
    """
    sides_by_label: dict[str, SideSpec] = {}
    for side in sides:
        try:
            each = (side,) if side.cell.engine else _repeat_for_engines(side, runs)
        except Cancelled:
            raise
        except ModeldynoError:
            if len(sides) == 1:
                raise
            each = (side,)
        sides_by_label |= {member.label: member for member in each}
    return tuple(sides_by_label.values())


def _repeat_for_engines(side: SideSpec, runs: RunService) -> tuple[SideSpec, ...]:
    facts = runs.run(InspectionSpec(side.model))
    assert isinstance(facts, ModelFacts)
    catalog.for_format(facts.format)  # raises when none can
    readers = [entry for entry in catalog.entries() if facts.format in entry.formats]
    joint = "," if "@" in side.label and not Path(side.label).exists() else "@"
    return tuple(
        replace(
            side,
            label=f"{side.label}{joint}engine={reader.name}",
            cell=replace(side.cell, engine=reader.name),
        )
        for reader in readers
        if catalog.is_usable(reader)
    )


def require_sides(sides: Sequence[SideSpec]) -> None:
    if not 2 <= len(sides) <= MOST_SIDES:
        raise BadValue(
            f"There is {len(sides)} side to compare"
            if len(sides) == 1
            else f"{len(sides)} sides are too many",
            why="only one engine here reads this model" if len(sides) == 1 else "",
            fix="Name another model or engine; see `modeldyno engines`"
            if len(sides) == 1
            else f"Name at most {MOST_SIDES}",
        )


def rank_sides(
    sides: Sequence[SideSpec],
    like: ComparisonSpec,
    runs: RunService,
    listen: Listener | None,
    budget: Budget = DEFAULT,
) -> Ranking:
    """``like`` says how to compare, its sides do not matter; ``budget`` is for a side that has to
    be measured alone. Ctrl-C ends it with what was measured."""
    return _Contest(sides, like, runs, listen, budget).result()


@dataclass
class _Contest:
    sides: Sequence[SideSpec]
    like: ComparisonSpec
    runs: RunService
    listen: Listener | None
    budget: Budget
    reference: SideSpec | None = None  # what all others are compared with, once known
    failed: dict[str, Failure] = field(default_factory=dict)
    pairs: dict[tuple[str, str], ComparisonResult] = field(default_factory=dict)
    # Pairs that failed although each of the two runs alone: too little memory for both, say.
    clashes: dict[tuple[str, str], Failure] = field(default_factory=dict)
    alone: dict[str, Ranked] = field(default_factory=dict)
    probed: dict[str, Failure | None] = field(default_factory=dict)

    def result(self) -> Ranking:
        is_stopped = False
        try:
            self._compare()
            self._measure_the_rest_alone()
        except Cancelled:
            is_stopped = True
        known = with_places([self._rank_side(side) for side in self.sides])
        if is_stopped and not any(place.side or place.failure for place in known):
            raise Cancelled("Stopped before there was anything to compare")
        return Ranking(known, self.reference.label if self.reference else "", is_stopped)

    # ------------------------------------------------------------ in alternation

    def _compare(self) -> None:
        """The first side that works, and can be measured beside another one, is the reference."""
        for side in self.sides:
            if side.label not in self.failed:
                self._compare_with(side, self.sides)
            if self.reference is not None:
                self._replace_odd_reference(self.reference)
                return

    def _compare_with(self, first: SideSpec, others: Sequence[SideSpec]) -> None:
        for other in others:
            if other is first or other.label in self.failed or self._is_tried(first, other):
                continue
            try:
                result = self.runs.run(replace(self.like, a=first, b=other), self.listen)
            except Cancelled:
                raise
            except ModeldynoError as error:
                self._record_failure(first, other, error)
                if first.label in self.failed:
                    return
                continue
            self.pairs[first.label, other.label] = result
            self.reference = self.reference or first
            if result.interrupted:
                raise Cancelled("Stopped by its user")

    def _is_tried(self, a: SideSpec, b: SideSpec) -> bool:
        both = {a.label, b.label}
        return any({*pair} == both for pair in (*self.pairs, *self.clashes))

    def _record_failure(self, first: SideSpec, other: SideSpec, error: ModeldynoError) -> None:
        """Whose fault it is that two could not be measured beside each other."""
        if why := self._find_failure(first):
            self.failed[first.label] = why
        elif isinstance(error, TimedOut):  # do not wait for as long once more
            self.failed[other.label] = Failure.of(error)
        elif why := self._find_failure(other):
            self.failed[other.label] = why
        else:
            self.clashes[first.label, other.label] = Failure.of(error)

    def _find_failure(self, side: SideSpec) -> Failure | None:
        """Why it does not even run once, alone."""
        if any(side.label in pair for pair in self.pairs):
            return None
        if side.label not in self.probed:
            self.probed[side.label] = self._measure_briefly(side)
        return self.probed[side.label]

    def _measure_briefly(self, side: SideSpec) -> Failure | None:
        spec = InferenceSpec(
            side.model,
            side.cell,
            timeout_s=self.like.timeout_s,
            memory_limit_bytes=self.like.memory_limit_bytes,
            seed=self.like.seed,
        )
        try:
            self.runs.run(spec)
        except Cancelled:
            raise
        except ModeldynoError as error:
            return Failure.of(error)
        return None

    def _replace_odd_reference(self, first: SideSpec) -> None:
        """Where all others compute something else than the reference, it may be the odd one out:
        another reference that agrees with at least one of them takes its place."""
        others = [side for side in self.sides if (first.label, side.label) in self.pairs]
        if len(others) < 2 or any(self._may_agree(first, other) for other in others):
            return
        second, *rest = others
        self._compare_with(second, rest)
        compared = [other for other in rest if (second.label, other.label) in self.pairs]
        if any(self._may_agree(second, other) for other in compared):
            self.reference = second

    def _may_agree(self, a: SideSpec, b: SideSpec) -> bool:
        parity = self.pairs[a.label, b.label].parity
        return parity is None or parity.agrees

    # ------------------------------------------------------------ alone

    def _measure_the_rest_alone(self) -> None:
        for side in self.sides:
            if side.label not in self.failed and self._find_comparison(side) is None:
                self._measure_alone(side)
        if self.reference is None and len(self.alone) == 1:
            self.reference = next(side for side in self.sides if side.label in self.alone)

    def _measure_alone(self, side: SideSpec) -> None:
        spec = BenchmarkSpec(
            side.model,
            (side.cell,),
            budget=self.budget,
            timeout_s=self.like.timeout_s,
            memory_limit_bytes=self.like.memory_limit_bytes,
            seed=self.like.seed,
        )
        try:
            result = self.runs.run(spec, self.listen)
        except Cancelled:
            raise
        except ModeldynoError as error:
            self.failed[side.label] = Failure.of(error)
            return
        measured, failure = measured_alone(side.label, result), result.cells[0].error
        if measured is not None:
            self.alone[side.label] = measured
        elif failure is not None and not result.interrupted:
            self.failed[side.label] = failure
        if result.interrupted:
            raise Cancelled("Stopped by its user")

    # ------------------------------------------------------------ in the end

    def _rank_side(self, side: SideSpec) -> Ranked:
        if compared := self._find_comparison(side):
            return compared
        if side.label not in self.alone:
            return Ranked(side.label, failure=self._failure_of(side))
        if side is self.reference:
            return replace(self.alone[side.label], ratio=FIRST)
        return replace(self.alone[side.label], unranked=self._why_alone(side))

    def _failure_of(self, side: SideSpec) -> Failure | None:
        """None where it was stopped before its turn."""
        clash = next((why for (_, b), why in self.clashes.items() if b == side.label), None)
        return self.failed.get(side.label, clash)

    def _why_alone(self, side: SideSpec) -> str:
        """In the words of its clash with the reference, or with any other where there is none."""
        clashes = {pair: why for pair, why in self.clashes.items() if side.label in pair}
        reference = self.reference.label if self.reference else ""
        pair = next((pair for pair in clashes if reference in pair), next(iter(clashes)))
        beside = next(label for label in pair if label != side.label)
        return f"it could not be measured in alternation with {beside}: {clashes[pair].title}"

    def _find_comparison(self, side: SideSpec) -> Ranked | None:
        """What its comparison with the reference says; None where there is none."""
        if self.reference is None:
            return None
        label, reference = side.label, self.reference.label
        if label == reference:
            levels = [
                r.a if a == label else r.b for (a, b), r in self.pairs.items() if label in (a, b)
            ]
            return reference_of(levels) if levels else None
        if result := self.pairs.get((reference, label)):
            return other_of(result)
        if result := self.pairs.get((label, reference)):
            return inverse_of(result)
        return None
