"""Compare two measured benchmarks: which is faster, how sure that is, and what else differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    environment_between,
    machines_apart,
    match_cells,
    settings_between,
    why_doubtful,
    why_incomparable,
)
from modeldyno.core.requests.axes import axis_fields, with_effective_settings
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
    """A comparison that has a result; ``is_swapped``: our A is its B."""

    id: ComparisonId
    result: ComparisonResult
    is_swapped: bool


class JudgementService:
    def __init__(self, records: Records, exports: ExportService) -> None:
        self._records = records
        self._exports = exports

    def judge(self, a: Picked, b: Picked) -> BenchmarkJudgement:
        """Raises NotFound for a benchmark that does not exist or was not measured, and BadValue for
        a cell that it does not have."""
        first, second = self._read_measured(a), self._read_measured(b)
        pairs = _matching_cells(first, second)
        alternations = self._find_alternations(first, second)
        cells = tuple(_judge_cells(first, second, pair, alternations) for pair in pairs)
        compared = pairs[0] if pairs else (first.numbers[0], second.numbers[0])
        settings = settings_between(
            first.result, second.result, first.cell(compared[0]), second.cell(compared[1])
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

    def _read_measured(self, picked: Picked) -> _Measured:
        outcome = self._records.benchmarks.outcome(picked.benchmark_id)
        if outcome.measured is None:
            raise NotFound(
                f"Benchmark {picked.benchmark_id} has no result",
                why="it was not measured yet",
                fix="Run it, or choose another one",
            )
        result: BenchmarkResult = self._exports.result(outcome.measured.id)
        if picked.cell is not None and picked.cell >= len(result.cells):
            raise BadValue(
                f"Benchmark {picked.benchmark_id} has no cell {picked.cell}",
                fix=f"Its cells are 0 to {len(result.cells) - 1}",
            )
        return _Measured(picked, outcome, result)

    def _find_alternations(self, a: _Measured, b: _Measured) -> list[_Alternation]:
        """Newest first, without unreadable ones."""
        models = a.outcome.benchmark.model_id, b.outcome.benchmark.model_id
        alternations = []
        for comparison, run_id in self._records.comparisons.between(*models):
            try:
                result: ComparisonResult = self._exports.result(run_id)
            except NotFound:
                continue
            ways = {(comparison.a_model_id, comparison.b_model_id): False}
            ways.setdefault((comparison.b_model_id, comparison.a_model_id), True)
            is_swapped = ways[models]
            alternations.append(_Alternation(comparison.id, result, is_swapped))
            if models[0] == models[1]:  # one model with two settings: either may be A
                alternations.append(_Alternation(comparison.id, result, not is_swapped))
        return alternations


def _matching_cells(a: _Measured, b: _Measured) -> list[tuple[int, int]]:
    if a.picked.cell is not None and b.picked.cell is not None:
        return [(a.picked.cell, b.picked.cell)]
    here, there = ([axes_of(side.cell(n)) for n in side.numbers] for side in (a, b))
    return [(a.numbers[i], b.numbers[j]) for i, j in match_cells(here, there)]


def _judge_cells(
    a: _Measured, b: _Measured, pair: tuple[int, int], alternations: list[_Alternation]
) -> CellJudgement:
    sides = a.cell(pair[0]), b.cell(pair[1])
    first, second = (_cell_side(number, cell) for number, cell in zip(pair, sides, strict=True))
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
    )
    alternation = next((each for each in alternations if _measured_same_cells(each, *sides)), None)
    if alternation is not None:
        return _judge_by_alternation(judgement, alternation)
    hosts = (encode(side.result.host) for side in (a, b))
    if why := machines_apart(*hosts) or why_incomparable(*sides) or _lack_of_sessions(*sides):
        return replace(judgement, why=why)
    return _judge_unpaired(judgement, *sides, is_same_run=a.result.run_id == b.result.run_id)


def _lack_of_sessions(a: CellResult, b: CellResult) -> str:
    for name, cell in (("A", a), ("B", b)):
        if cell.measurement and not is_over_sessions(cell.measurement.latency.floor):
            return f"{name} rests on too few sessions to know how far they differ"
    return ""


def _judge_unpaired(
    judgement: CellJudgement, a: CellResult, b: CellResult, *, is_same_run: bool
) -> CellJudgement:
    """From separate measurements of two cells that both have one."""
    assert a.measurement is not None
    assert b.measurement is not None
    latencies = a.measurement.latency, b.measurement.latency
    items = a.items, b.items
    ratio = unpaired_ratio(latencies[0].floor, latencies[1].floor, items)
    why_inconclusive = why_doubtful(a, b)
    caveat = "" if is_same_run else "measured one after the other: what changed between is in it"
    return replace(
        judgement,
        verdict="inconclusive" if why_inconclusive else compare_verdict(ratio, MARGIN),
        why=why_inconclusive or caveat,
        ratio=ratio,
        typical_ratio=unpaired_ratio(latencies[0].typical, latencies[1].typical, items),
        basis="one run" if is_same_run else "separate runs",
    )


def _judge_by_alternation(judgement: CellJudgement, alternation: _Alternation) -> CellJudgement:
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


def _cell_side(number: int, cell: CellResult) -> JudgedCell:
    measurement = cell.measurement
    return JudgedCell(
        number=number,
        name=cell.spec.name,
        sessions=measurement.sessions if measurement else 0,
        samples=measurement.samples if measurement else 0,
        noise=measurement.noise if measurement else None,
    )


def _measured_same_cells(alternation: _Alternation, a: CellResult, b: CellResult) -> bool:
    """Whether it compared the very cells ``a`` and ``b``."""
    result = alternation.result
    sides = [*zip((result.a, result.b), result.spec.configurations(), strict=True)]
    first, second = reversed(sides) if alternation.is_swapped else sides
    return _is_side(*first, a) and _is_side(*second, b)


def _is_side(side: SideResult, spec: CellSpec, cell: CellResult) -> bool:
    if axis_fields(with_effective_settings(spec, side.batch_size, side.facts)) != axes_of(cell):
        return False
    return side.contract == cell.contract
