"""A benchmark: a model in one or more cells, and every run it had."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId
from modeldyno.core.results import Estimate, Verdict
from modeldyno.core.runs import CellOutcome, LatestRun, Runnable, RunSummary, State
from modeldyno.core.specs import BenchmarkSpec, CellSpec

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

    ``ratio`` is its time by the baseline's, per item, of the floor.
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
    cells: tuple[CellOutcome, ...]


@dataclass(frozen=True)
class BenchmarkDetails:
    benchmark: Benchmark
    model_name: str
    latest: LatestRun | None
    cells: tuple[CellOutcome, ...]  # of the latest run that got so far as to have some
    baseline: Baseline | None = None  # of its project


@dataclass(frozen=True)
class BenchmarkOutcome:
    """A benchmark with its latest run, and the latest one that came to a number: another, when it
    was run again and failed."""

    benchmark: Benchmark
    latest: LatestRun | None
    measured: LatestRun | None
    cells: tuple[CellOutcome, ...]  # of the one that was measured


@dataclass(frozen=True, kw_only=True)
class BenchmarkRow:
    """A line of a list: no more of the spec than its cells, and the model by its name."""

    id: BenchmarkId
    project_id: ProjectId
    name: str
    mode: Mode
    model_id: ModelId
    model_name: str
    state: State
    created_at: datetime
    last_run_at: datetime | None
    rerun_of: BenchmarkId | None
    summary: RunSummary
    asked: tuple[CellSpec, ...] = ()  # no more of each than the axes on which cells differ
    cells: tuple[CellOutcome, ...] = ()  # of the latest run that got so far as to have some
    baseline_id: BenchmarkId | None = None  # of its project
    baseline: Baseline | None = None
