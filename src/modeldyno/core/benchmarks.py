"""What lists rank measured cells by, and hold against each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from modeldyno.core.cell_axes import items_of
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId, RunId
from modeldyno.core.results import FEWEST_SESSIONS, Estimate, Verdict
from modeldyno.core.runs import LatestRun, Runnable, State, read_summary
from modeldyno.core.specs import BenchmarkSpec

if TYPE_CHECKING:
    from modeldyno.core.documents.runnables import SummaryDocument

from modeldyno.core.ids import ComparisonId
from modeldyno.core.sentences import pair_sentence
from modeldyno.core.specs import ComparisonSpec


@dataclass(frozen=True, slots=True)
class CellFigures:
    """The columns of a cell in the database. Intervals are over sessions."""

    run_id: RunId
    number: int  # its place in the spec
    axes: dict[str, Any]  # by name, as it ran
    typical_s: float | None
    floor_s: float | None
    floor_low_s: float | None
    floor_high_s: float | None
    throughput_per_s: float | None
    throughput_low_per_s: float | None
    throughput_high_per_s: float | None
    interval_level: float | None
    sessions: int | None
    noise: str | None
    machine: str | None  # None: unknown

    @property
    def items(self) -> int:
        """Of one call."""
        return items_of(self.axes)

    @property
    def decisive(self) -> Estimate | None:
        """The figure that decides verdicts; None with too few sessions for an interval."""
        return self._estimate(self.floor_s, self.floor_low_s, self.floor_high_s)

    @property
    def throughput(self) -> Estimate | None:
        return self._estimate(
            self.throughput_per_s, self.throughput_low_per_s, self.throughput_high_per_s
        )

    def _estimate(
        self, value: float | None, low: float | None, high: float | None
    ) -> Estimate | None:
        sessions = self.sessions or 0
        if value is None or low is None or high is None or sessions < FEWEST_SESSIONS:
            return None
        if min(value, low) <= 0:
            return None
        return Estimate(value, low, high, self.interval_level or 0.95, sessions, "sessions")


def best_cell(cells: Iterable[CellFigures]) -> CellFigures | None:
    """The quickest measured cell."""
    measured = [cell for cell in cells if cell.typical_s is not None]
    return min(measured, key=lambda cell: cell.typical_s or 0.0, default=None)


Mode = Literal["performance", "accuracy"]


@dataclass(frozen=True, kw_only=True)
class NewBenchmark:
    project_id: ProjectId
    model_id: ModelId
    name: str
    spec: BenchmarkSpec
    mode: Mode = "performance"
    dataset_id: DatasetId | None = None
    rerun_of: BenchmarkId | None = None
    fingerprint: str | None = None  # of one requested by a terminal


@dataclass(frozen=True, kw_only=True)
class Benchmark(Runnable, NewBenchmark):
    id: BenchmarkId
    modified_at: datetime | None = None


@dataclass(frozen=True)
class VersusBaseline:
    """A benchmark compared with its project's baseline, at one cell that both have.

    ``ratio`` is its time divided by the baseline's, per item, of the decisive figure.
    """

    benchmark_id: BenchmarkId  # of the baseline
    baseline_cell: int | None = None
    cell: int | None = None
    ratio: Estimate | None = None
    verdict: Verdict | None = None
    why: str = ""  # there is no ratio, or no verdict
    note: str = ""  # what the ratio is of, where they compute in different precisions


@dataclass(frozen=True)
class Baseline:
    benchmark_id: BenchmarkId
    cells: tuple[CellFigures, ...]


@dataclass(frozen=True)
class StoredCells:
    """Cells of the latest run that has any."""

    documents: tuple[str, ...] = ()  # a CellDocument each, as JSON
    figures: tuple[CellFigures, ...] = ()
    baseline: Baseline | None = None  # of its project


@dataclass(frozen=True)
class BenchmarkDetails:
    benchmark: Benchmark
    model_name: str
    latest: LatestRun | None
    spec_json: str
    outline_json: str  # mode, axes and worst_noise of its cells
    cells: StoredCells


@dataclass(frozen=True)
class BenchmarkOutcome:
    """A benchmark with its latest run and its latest run with figures, which differ if a rerun
    failed."""

    benchmark: Benchmark
    latest: LatestRun | None
    measured: LatestRun | None
    cells: tuple[CellFigures, ...]  # of ``measured``


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """A cell with figures, and the benchmark it belongs to."""

    benchmark_id: BenchmarkId
    name: str
    model_id: ModelId
    figures: CellFigures


@dataclass(frozen=True, slots=True)
class MeasuredCells:
    """All configurations of a project, each as it was last measured."""

    cells: tuple[MeasuredCell, ...]
    benchmarks: int  # with figures
    first: BenchmarkId | None  # of those


class BenchmarkRow(NamedTuple):
    """A row of a list; documents are JSON text.

    Not a dataclass: a frozen one takes four times as long to build, and lists have many.
    """

    id: BenchmarkId
    project_id: ProjectId
    name: str
    model_id: ModelId
    model_name: str
    state: State
    created_at: datetime
    last_run_at: datetime | None
    rerun_of: BenchmarkId | None
    summary_json: str
    outline_json: str  # mode, axes and worst_noise of its cells
    cells: StoredCells

    @property
    def summary(self) -> SummaryDocument:
        return read_summary(self.summary_json)


@dataclass(frozen=True, kw_only=True)
class NewComparison:
    project_id: ProjectId
    a_model_id: ModelId
    b_model_id: ModelId
    name: str
    spec: ComparisonSpec
    rerun_of: ComparisonId | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(Runnable, NewComparison):
    id: ComparisonId

    def sentence(self, names: tuple[str, str] = ("A", "B")) -> str | None:
        """The verdict of its latest run; None without one."""
        summary = self.summary
        verdict, ratio = summary.verdict, summary.ratio
        if verdict is None or ratio is None:
            return None
        value, low, high = ratio.value, ratio.low, ratio.high
        if value is None or low is None or high is None:
            return None
        return pair_sentence(verdict, (value, low, high), self.spec.margin, names)
