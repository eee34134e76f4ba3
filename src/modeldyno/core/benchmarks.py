"""A benchmark: a model in one or more cells, and every run it had."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from modeldyno.core.cells import CellFigures
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId
from modeldyno.core.results import Estimate, Verdict
from modeldyno.core.runs import LatestRun, Runnable, State, read_summary
from modeldyno.core.specs import BenchmarkSpec

if TYPE_CHECKING:
    from modeldyno.core.documents.summary import SummaryDocument

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
    fingerprint: str | None = None  # of one that a terminal asked for: the same words, the same one


@dataclass(frozen=True, kw_only=True)
class Benchmark(Runnable, NewBenchmark):
    id: BenchmarkId
    modified_at: datetime | None = None


@dataclass(frozen=True)
class VersusBaseline:
    """A benchmark held against its project's baseline, at one cell that both have.

    ``ratio`` is its time by the baseline's, per item, of what verdicts go by.
    """

    benchmark_id: BenchmarkId  # of the baseline
    baseline_cell: int | None = None
    cell: int | None = None
    ratio: Estimate | None = None
    verdict: Verdict | None = None
    why: str = ""  # there is no ratio, or no more to say about it


@dataclass(frozen=True)
class Baseline:
    benchmark_id: BenchmarkId
    cells: tuple[CellFigures, ...]


@dataclass(frozen=True)
class ShownCells:
    """Of the latest run that came so far as to have cells."""

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
    cells: ShownCells


@dataclass(frozen=True)
class BenchmarkOutcome:
    """A benchmark with its latest run, and the latest one that came to a number: another, when it
    was run again and failed."""

    benchmark: Benchmark
    latest: LatestRun | None
    measured: LatestRun | None
    cells: tuple[CellFigures, ...]  # of the one that was measured


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """A cell that came to a number, and whose it is."""

    benchmark_id: BenchmarkId
    name: str
    model_id: ModelId
    figures: CellFigures


@dataclass(frozen=True, slots=True)
class MeasuredCells:
    """Of a project: each configuration once, as it was measured last."""

    cells: tuple[MeasuredCell, ...]
    benchmarks: int  # that came to a number
    first: BenchmarkId | None  # of those


class BenchmarkRow(NamedTuple):
    """A line of a list, with what is in documents as JSON.

    No dataclass: lists are made of many, and a frozen one takes four times as long to make.
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
    cells: ShownCells

    @property
    def summary(self) -> SummaryDocument:
        return read_summary(self.summary_json)
