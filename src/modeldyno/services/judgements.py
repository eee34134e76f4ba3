"""Judge two measured benchmarks: which is quicker, how sure that is, and what else differs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from modeldyno.core.benchmarks import BenchmarkOutcome
from modeldyno.core.codec import encode
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import ComparisonId
from modeldyno.core.judgements import (
    MARGIN,
    BenchmarkJudgement,
    CellJudgement,
    JudgedCell,
    JudgedSide,
    Picked,
    axes_of,
    doubt,
    environment_between,
    machines_apart,
    matched,
    obstacle,
    settings_between,
)
from modeldyno.core.requests.axes import as_ran, axis_fields
from modeldyno.core.results import BenchmarkResult, CellResult, ComparisonResult, SideResult
from modeldyno.core.specs import CellSpec
from modeldyno.measure.verdicts import compare_verdict, is_over_sessions, unpaired_ratio
from modeldyno.services.exports import ExportService
from modeldyno.store.records.all import Records


@dataclass(frozen=True)
class _Measured:
    picked: Picked
    outcome: BenchmarkOutcome
    result: BenchmarkResult

    @property
    def side(self) -> JudgedSide:
        benchmark = self.outcome.benchmark
        return JudgedSide(
            benchmark_id=benchmark.id,
            name=benchmark.name,
            run_id=self.result.run_id,
            model_name=PurePath(self.result.model.path).name,
        )

    @property
    def numbers(self) -> tuple[int, ...]:
        if self.picked.cell is None:
            return tuple(range(len(self.result.cells)))
        return (self.picked.cell,)

    def cell(self, number: int) -> CellResult:
        return self.result.cells[number]


@dataclass(frozen=True)
class _Alternation:
    """A comparison that has a result; ``is_turned``: what is A here was B there."""

    id: ComparisonId
    result: ComparisonResult
    is_turned: bool


class JudgementService:
    def __init__(self, records: Records, exports: ExportService) -> None:
        self._records = records
        self._exports = exports

    def judge(self, a: Picked, b: Picked) -> BenchmarkJudgement:
        """Raises NotFound for what is not there, or was not measured; BadValue for a cell that a
        benchmark does not have."""
        first, second = self._measured(a), self._measured(b)
        pairs = _pairs(first, second)
        compared = self._alternations(first, second)
        cells = tuple(_judge(first, second, pair, compared) for pair in pairs)
        one = pairs[0] if pairs else (first.numbers[0], second.numbers[0])
        settings = settings_between(
            first.result, second.result, first.cell(one[0]), second.cell(one[1])
        )
        return BenchmarkJudgement(
            a=first.side,
            b=second.side,
            cells=cells,
            unmatched_a=tuple(sorted(set(first.numbers) - {pair[0] for pair in pairs})),
            unmatched_b=tuple(sorted(set(second.numbers) - {pair[1] for pair in pairs})),
            settings=settings,
            environment=environment_between(first.result, second.result),
        )

    def _measured(self, picked: Picked) -> _Measured:
        outcome = self._records.benchmarks.outcome(picked.benchmark_id)
        if outcome.measured is None:
            raise NotFound(
                f"Benchmark {picked.benchmark_id} has no result",
                why="nothing of it was measured yet",
                fix="Run it, or choose another one",
            )
        result: BenchmarkResult = self._exports.result(outcome.measured.id)
        if picked.cell is not None and picked.cell >= len(result.cells):
            raise BadValue(
                f"Benchmark {picked.benchmark_id} has no cell {picked.cell}",
                fix=f"Its cells are 0 to {len(result.cells) - 1}",
            )
        return _Measured(picked, outcome, result)

    def _alternations(self, a: _Measured, b: _Measured) -> list[_Alternation]:
        """Newest first; those that cannot be read are none."""
        models = a.outcome.benchmark.model_id, b.outcome.benchmark.model_id
        found = []
        for comparison, run_id in self._records.comparisons.between(*models):
            try:
                result: ComparisonResult = self._exports.result(run_id)
            except NotFound:
                continue
            ways = {(comparison.a_model_id, comparison.b_model_id): False}
            ways.setdefault((comparison.b_model_id, comparison.a_model_id), True)
            is_turned = ways[models]
            found.append(_Alternation(comparison.id, result, is_turned))
            if models[0] == models[1]:  # of one model with two settings, either may be A
                found.append(_Alternation(comparison.id, result, not is_turned))
        return found


def _pairs(a: _Measured, b: _Measured) -> list[tuple[int, int]]:
    if a.picked.cell is not None and b.picked.cell is not None:
        return [(a.picked.cell, b.picked.cell)]
    here, there = ([axes_of(side.cell(n)) for n in side.numbers] for side in (a, b))
    return [(a.numbers[one], b.numbers[other]) for one, other in matched(here, there)]


def _judge(
    a: _Measured,
    b: _Measured,
    pair: tuple[int, int],
    compared: list[_Alternation],
) -> CellJudgement:
    sides = a.cell(pair[0]), b.cell(pair[1])
    alternation = next((one for one in compared if _is_of(one, *sides)), None)
    if alternation is not None:
        return _by_alternation(pair, sides, alternation)
    hosts = (encode(side.result.host) for side in (a, b))
    why = machines_apart(*hosts) or obstacle(*sides)
    if why:
        return _not_comparable(pair, sides, why)
    return _apart(pair, sides, a.result.run_id == b.result.run_id)


def _apart(
    pair: tuple[int, int], sides: tuple[CellResult, CellResult], is_one_run: bool
) -> CellJudgement:
    one, other = (side.measurement for side in sides)
    assert one is not None
    assert other is not None
    for name, found in (("A", one), ("B", other)):
        if not is_over_sessions(found.latency.floor):
            return _not_comparable(
                pair, sides, f"{name} rests on too few sessions to know how far they differ"
            )
    items = sides[0].items, sides[1].items
    ratio = unpaired_ratio(one.latency.floor, other.latency.floor, items)
    typical = unpaired_ratio(one.latency.typical, other.latency.typical, items)
    doubted = doubt(*sides)
    apart = "" if is_one_run else "measured one after the other: what changed between is in it"
    return CellJudgement(
        a=_told(pair[0], sides[0]),
        b=_told(pair[1], sides[1]),
        verdict="inconclusive" if doubted else compare_verdict(ratio, MARGIN),
        why=doubted or apart,
        ratio=ratio,
        typical_ratio=typical,
        basis="one run" if is_one_run else "separate runs",
        comparison_id=None,
        pairs=None,
    )


def _by_alternation(
    pair: tuple[int, int], sides: tuple[CellResult, CellResult], found: _Alternation
) -> CellJudgement:
    result = found.result
    ratio, typical = result.ratio, result.typical_ratio
    if found.is_turned:
        ratio, typical = ratio.inverse, typical.inverse
    return CellJudgement(
        a=_told(pair[0], sides[0]),
        b=_told(pair[1], sides[1]),
        verdict=compare_verdict(ratio, result.spec.margin),
        why="",
        ratio=ratio,
        typical_ratio=typical,
        basis="alternation",
        comparison_id=found.id,
        pairs=result.pairs,
        margin=result.spec.margin,
    )


def _not_comparable(
    pair: tuple[int, int], sides: tuple[CellResult, CellResult], why: str
) -> CellJudgement:
    return CellJudgement(
        a=_told(pair[0], sides[0]),
        b=_told(pair[1], sides[1]),
        verdict="not-comparable",
        why=why,
        ratio=None,
        typical_ratio=None,
        basis=None,
        comparison_id=None,
        pairs=None,
    )


def _told(number: int, cell: CellResult) -> JudgedCell:
    found = cell.measurement
    return JudgedCell(
        number=number,
        name=cell.spec.name,
        sessions=found.sessions if found else 0,
        samples=found.samples if found else 0,
        noise=found.noise if found else None,
    )


def _is_of(found: _Alternation, a: CellResult, b: CellResult) -> bool:
    result = found.result
    there = [*zip((result.a, result.b), result.spec.configurations(), strict=True)]
    first, second = reversed(there) if found.is_turned else there
    return _is_side(*first, a) and _is_side(*second, b)


def _is_side(side: SideResult, spec: CellSpec, cell: CellResult) -> bool:
    facts = side.facts
    there = axis_fields(as_ran(spec, side.batch_size, facts))
    contracts = facts.contract or side.spec.contract, _contract(cell)
    return there == axes_of(cell) and contracts[0] == contracts[1]


def _contract(cell: CellResult) -> str:
    return (cell.facts.contract if cell.facts else None) or cell.spec.contract
