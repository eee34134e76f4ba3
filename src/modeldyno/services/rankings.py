"""Compare more than two: each with the first that runs; one that cannot be run spoils no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from modeldyno.core.errors import BadValue, Cancelled, ModeldynoError
from modeldyno.core.models import ModelFacts
from modeldyno.core.rankings import Ranked, Ranking, first_of, other_of, placed
from modeldyno.core.results import ComparisonResult, Failure
from modeldyno.core.specs import ComparisonSpec, InferenceSpec, InspectionSpec, SideSpec
from modeldyno.engines import catalog
from modeldyno.services.runs import Listener, RunService

MOST_SIDES = 30


def in_every_engine(sides: Sequence[SideSpec], runs: RunService) -> tuple[SideSpec, ...]:
    """Sides that name no engine, once for each that can load them."""
    found: list[SideSpec] = []
    for side in sides:
        if side.cell.engine:
            found.append(side)
            continue
        facts = runs.run(InspectionSpec(side.model))
        assert isinstance(facts, ModelFacts)
        catalog.for_format(facts.format)  # raises when none can
        readers = [one for one in catalog.entries() if facts.format in one.formats]
        joint = "," if "@" in side.label and not Path(side.label).exists() else "@"
        found += [
            replace(
                side,
                label=f"{side.label}{joint}engine={reader.name}",
                cell=replace(side.cell, engine=reader.name),
            )
            for reader in readers
            if catalog.is_usable(reader)
        ]
    return tuple(found)


def expect_some(sides: Sequence[SideSpec]) -> None:
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


def ranking(
    sides: Sequence[SideSpec], like: ComparisonSpec, runs: RunService, listen: Listener | None
) -> Ranking:
    """``like`` says how; its sides do not matter. Ctrl-C ends it with what was measured."""
    failed: dict[str, Failure] = {}
    waiting = list(sides)
    is_stopped = False
    while len(waiting) > 1:
        first, *others = waiting
        found: list[ComparisonResult] = []
        is_first_at_fault = False
        for other in others:
            try:
                result = runs.run(replace(like, a=first, b=other), listen)
            except Cancelled:
                is_stopped = True
                break
            except ModeldynoError as error:
                if not found and (why := _fault(first, like, runs)):
                    failed[first.label] = why
                    is_first_at_fault = True
                    break
                failed[other.label] = Failure.of(error)
                continue
            assert isinstance(result, ComparisonResult)
            found.append(result)
            if result.interrupted:
                is_stopped = True
                break
        if is_first_at_fault:
            waiting = others
            continue
        if not found:
            break
        return Ranking(_in_order(sides, found, failed), first.label, is_stopped)
    if not failed:
        raise Cancelled("Stopped before there was anything to compare")
    return Ranking(_in_order(sides, [], failed), "", is_stopped)


def _in_order(
    sides: Sequence[SideSpec], found: Sequence[ComparisonResult], failed: dict[str, Failure]
) -> tuple[Ranked, ...]:
    known = {label: Ranked(label, failure=why) for label, why in failed.items()}
    if found:
        known |= {found[0].a.label: first_of(found)}
        known |= {result.b.label: other_of(result) for result in found}
    return placed([known.get(side.label, Ranked(side.label)) for side in sides])


def _fault(side: SideSpec, like: ComparisonSpec, runs: RunService) -> Failure | None:
    """Why it does not even run once, alone."""
    spec = InferenceSpec(
        side.model,
        side.cell,
        timeout_s=like.timeout_s,
        memory_limit_bytes=like.memory_limit_bytes,
        seed=like.seed,
    )
    try:
        runs.run(spec)
    except Cancelled:
        raise
    except ModeldynoError as error:
        return Failure.of(error)
    return None
