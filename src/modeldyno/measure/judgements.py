"""Hold two measured benchmarks against each other: from their results, without measuring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from modeldyno.core.codec import encode
from modeldyno.core.ids import ComparisonId
from modeldyno.core.judgements import (
    MARGIN,
    BenchmarkJudgement,
    CellJudgement,
    JudgedCell,
    JudgedSide,
    axes_of,
    environment_between,
    machines_apart,
    match_cells,
    precision_note,
    settings_between,
    why_doubtful,
    why_incomparable,
)
from modeldyno.core.requests.axes import axis_fields, with_effective_settings
from modeldyno.core.results import BenchmarkResult, CellResult, ComparisonResult, SideResult
from modeldyno.core.specs import CellSpec
from modeldyno.measure.verdicts import compare_verdict, is_over_sessions, unpaired_ratio

APART = (
    "measured one after the other: the interval is over the sessions of each run, and leaves out "
    "what changed between them"
)


@dataclass(frozen=True)
class MeasuredSide:
    """A benchmark with a result; all of its cells, or one."""

    side: JudgedSide
    result: BenchmarkResult
    only_cell: int | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        if self.only_cell is None:
            return tuple(range(len(self.result.cells)))
        return (self.only_cell,)

    def cell(self, number: int) -> CellResult:
        return self.result.cells[number]


@dataclass(frozen=True)
class Alternation:
    """A comparison that has a result; ``is_swapped``: our A is its B."""

    id: ComparisonId
    result: ComparisonResult
    is_swapped: bool


def judge(
    a: MeasuredSide,
    b: MeasuredSide,
    alternations: Sequence[Alternation] = (),
    margin: float = MARGIN,
) -> BenchmarkJudgement:
    """Cell by cell; what ``alternations`` measured in turns outranks separate measurements."""
    pairs = _pairs(a, b)
    compared = pairs[0] if pairs else (a.numbers[0], b.numbers[0])
    return BenchmarkJudgement(
        a=a.side,
        b=b.side,
        cells=tuple(_judge(a, b, pair, alternations, margin) for pair in pairs),
        unmatched_a=tuple(sorted(set(a.numbers) - {pair[0] for pair in pairs})),
        unmatched_b=tuple(sorted(set(b.numbers) - {pair[1] for pair in pairs})),
        settings=settings_between(a.result, b.result, a.cell(compared[0]), b.cell(compared[1])),
        environment=environment_between(a.result, b.result),
    )


def _pairs(a: MeasuredSide, b: MeasuredSide) -> list[tuple[int, int]]:
    if a.only_cell is not None and b.only_cell is not None:
        return [(a.only_cell, b.only_cell)]
    here, there = ([axes_of(side.cell(n)) for n in side.numbers] for side in (a, b))
    return [(a.numbers[i], b.numbers[j]) for i, j in match_cells(here, there)]


def _judge(
    a: MeasuredSide,
    b: MeasuredSide,
    pair: tuple[int, int],
    alternations: Sequence[Alternation],
    margin: float,
) -> CellJudgement:
    sides = a.cell(pair[0]), b.cell(pair[1])
    first, second = (_side(number, cell) for number, cell in zip(pair, sides, strict=True))
    judgement = CellJudgement(
        a=first,
        b=second,
        verdict="not-comparable",
        why="",
        ratio=None,
        typical_ratio=None,
        basis=None,
        comparison_id=None,
        pairs=None,
        margin=margin,
    )
    alternation = next((each for each in alternations if _is_of(each, *sides)), None)
    if alternation is not None:
        return replace(_by_alternation(judgement, alternation), why=precision_note(*sides))
    hosts = (encode(side.result.host) for side in (a, b))
    if why := machines_apart(*hosts) or why_incomparable(*sides) or _lack_of_sessions(*sides):
        return replace(judgement, why=why)
    return _apart(judgement, *sides, is_same_run=a.result.run_id == b.result.run_id)


def _lack_of_sessions(a: CellResult, b: CellResult) -> str:
    for name, cell in (("A", a), ("B", b)):
        if cell.measurement and not is_over_sessions(cell.measurement.latency.floor):
            return f"{name} rests on too few sessions to know how far they differ"
    return ""


def _apart(
    judgement: CellJudgement, a: CellResult, b: CellResult, *, is_same_run: bool
) -> CellJudgement:
    """From separate measurements of two cells that both have one."""
    assert a.measurement is not None
    assert b.measurement is not None
    latencies = a.measurement.latency, b.measurement.latency
    items = a.items, b.items
    ratio = unpaired_ratio(latencies[0].floor, latencies[1].floor, items)
    why_inconclusive = why_doubtful(a, b)
    caveat = "" if is_same_run else APART
    verdict = compare_verdict(ratio, judgement.margin)
    return replace(
        judgement,
        verdict="inconclusive" if why_inconclusive else verdict,
        why=why_inconclusive or "; ".join(filter(None, (precision_note(a, b), caveat))),
        ratio=ratio,
        typical_ratio=unpaired_ratio(latencies[0].typical, latencies[1].typical, items),
        basis="one run" if is_same_run else "separate runs",
    )


def _by_alternation(judgement: CellJudgement, alternation: Alternation) -> CellJudgement:
    result = alternation.result
    ratio, typical = result.ratio, result.typical_ratio
    if alternation.is_swapped:
        ratio, typical = ratio.inverse, typical.inverse
    return replace(
        judgement,
        verdict=compare_verdict(ratio, result.spec.margin),
        ratio=ratio,
        typical_ratio=typical,
        basis="alternation",
        comparison_id=alternation.id,
        pairs=result.pairs,
        margin=result.spec.margin,
    )


def _side(number: int, cell: CellResult) -> JudgedCell:
    measurement = cell.measurement
    return JudgedCell(
        number=number,
        name=cell.spec.name,
        sessions=measurement.sessions if measurement else 0,
        samples=measurement.samples if measurement else 0,
        noise=measurement.noise if measurement else None,
    )


def _is_of(alternation: Alternation, a: CellResult, b: CellResult) -> bool:
    """Whether it compared the very cells ``a`` and ``b``."""
    result = alternation.result
    sides = [*zip((result.a, result.b), result.spec.configurations(), strict=True)]
    first, second = reversed(sides) if alternation.is_swapped else sides
    return _is_side(*first, a) and _is_side(*second, b)


def _is_side(side: SideResult, spec: CellSpec, cell: CellResult) -> bool:
    if axis_fields(with_effective_settings(spec, side.batch_size, side.facts)) != axes_of(cell):
        return False
    return side.contract == cell.contract
