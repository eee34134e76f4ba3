"""Benchmarks as a server keeps them: lines of lists, and all that is known of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from modeldyno.core.benchmarks import Mode
from modeldyno.core.documents.axes import AxesDocument
from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.described import Amount, Count, Described, Positive, Size
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.results import Estimate, Noise, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioDocument(Described):
    """With its 95 % interval."""

    value: Positive
    """One time by another."""
    low: Positive
    """Lower end."""
    high: Positive
    """Upper end."""

    @classmethod
    def of(cls, ratio: Estimate | None) -> RatioDocument | None:
        return None if ratio is None else cls.from_fields(ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersusBaselineDocument(Described):
    """At the quickest cell that both have; of the baseline itself, the ratio is 1."""

    benchmark_id: Size
    """Of the baseline."""
    baseline_cell: Count | None
    """Its cell."""
    cell: Count | None
    """The cell that is held against it."""
    ratio: RatioDocument | None
    """Its time by the baseline's, per item."""
    verdict: Verdict | None
    """Null without a ratio."""
    why: str
    """Why there is no ratio, or no verdict; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstNoiseDocument(Described):
    """Of all cells of a benchmark; `summary` is about the best one only."""

    noise: Noise
    """The worst there is."""
    cells: Size
    """So many are as noisy as that."""
    of: Size
    """Of so many that were measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSummary(RunnableHead):
    """A line of a list of benchmarks."""

    mode: Mode
    """What it measures."""
    model_id: Size
    """Number of its model."""
    model_name: str
    """Of its model."""
    rerun_of: Size | None
    """The benchmark that this one repeats."""
    summary: SummaryDocument
    """Of its best cell."""
    worst_noise: WorstNoiseDocument | None
    """Null before it is measured."""
    axes: AxesDocument
    """What its cells differ in."""
    vs_baseline: VersusBaselineDocument | None
    """Null without a baseline, and before both have a number."""
    cells: tuple[CellDocument, ...] | None
    """Null in a list, unless requested by `with_cells`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkDetailsDocument(BenchmarkSummary):
    """A benchmark: its settings, its latest run, and how each cell came out the last time."""

    modified_at: datetime | None
    """When it was changed."""
    dataset_id: Size | None
    """Number of its dataset."""
    settings: BenchmarkRequest
    """As they were requested; those of a terminal may be beyond what a server accepts."""
    cells: tuple[CellDocument, ...]
    """All of them, in the order requested."""
    latest_run: LatestRunSummary | None
    """Null before the first."""
    command: str
    """Measures the same in a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument(Described):
    """What a benchmark would measure; nothing is kept, nothing is run."""

    cells: tuple[CellDocument, ...]
    """Without figures."""
    about_s: Amount | None
    """Null when the number of calls is exact."""
    cores: Size
    """Used at once, at most."""
    threads: Size
    """More than cores: they would share them."""
    command: str
    """Measures the same in a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionDocument(Described):
    """Texts that measure the same again when they are pasted. None holds the token."""

    terminal: str
    """Fetches the model's file, and measures it here."""
    curl: str
    """Puts the same benchmark in the server's queue."""
    python: str
    """The same, and waits for the result."""
    config: dict[str, Any]
    """What `modeldyno bench --config` reads."""
