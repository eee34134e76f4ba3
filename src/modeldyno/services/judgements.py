"""Compare two measured benchmarks: which is faster, how sure that is, and what else differs."""

from __future__ import annotations

from pathlib import PurePath

from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import ModelId
from modeldyno.core.judgements import BenchmarkJudgement, JudgedSide, Picked
from modeldyno.core.results import BenchmarkResult, ComparisonResult
from modeldyno.measure.judgements import Alternation, MeasuredSide, judge
from modeldyno.services.exports import ExportService
from modeldyno.store.records.all import Records


class JudgementService:
    def __init__(self, records: Records, exports: ExportService) -> None:
        self._records = records
        self._exports = exports

    def judge(self, a: Picked, b: Picked) -> BenchmarkJudgement:
        """Raises NotFound for a benchmark that does not exist or was not measured, and BadValue for
        a cell that it does not have."""
        (first, a_model), (second, b_model) = self._read_measured(a), self._read_measured(b)
        return judge(first, second, self._find_alternations((a_model, b_model)))

    def _read_measured(self, picked: Picked) -> tuple[MeasuredSide, ModelId]:
        """With its model."""
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
        side = JudgedSide(
            benchmark_id=outcome.benchmark.id,
            name=outcome.benchmark.name,
            run_id=result.run_id,
            model_name=PurePath(result.model.path).name,
        )
        return MeasuredSide(side, result, picked.cell), outcome.benchmark.model_id

    def _find_alternations(self, models: tuple[ModelId, ModelId]) -> list[Alternation]:
        """Newest first, without unreadable ones."""
        alternations = []
        for comparison, run_id in self._records.comparisons.between(*models):
            try:
                result: ComparisonResult = self._exports.result(run_id)
            except NotFound:
                continue
            ways = {(comparison.a_model_id, comparison.b_model_id): False}
            ways.setdefault((comparison.b_model_id, comparison.a_model_id), True)
            is_swapped = ways[models]
            alternations.append(Alternation(comparison.id, result, is_swapped))
            if models[0] == models[1]:  # one model with two settings: either may be A
                alternations.append(Alternation(comparison.id, result, not is_swapped))
        return alternations
