"""Benchmarks: the results of one, and what a server keeps of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_type_hints

from modeldyno.core.benchmarks import Mode
from modeldyno.core.cell_axes import COUNTS, SIZES
from modeldyno.core.documents.cells import FIGURES, AxesDocument, CellDocument
from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Positive,
    RunName,
    Size,
)
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure, LatencyDocument, figure_columns, plain_value
from modeldyno.core.documents.hosts import WeatherDocument
from modeldyno.core.documents.models import ModelDocument
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead, SummaryDocument
from modeldyno.core.documents.runs import ArtifactDocument, ResultHead
from modeldyno.core.exports import ARTIFACTS, artifacts_text, csv_text
from modeldyno.core.hosts import HostFacts
from modeldyno.core.judgements import (
    Basis,
    BenchmarkJudgement,
    CellJudgement,
    Judged,
    JudgedCell,
    JudgedSide,
    Setting,
    Side,
    speedup,
)
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.results import (
    BenchmarkResult,
    Estimate,
    Failure,
    Noise,
    Standings,
    Verdict,
)
from modeldyno.core.specs import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingDocument(Described):
    """The best cell by one figure, and every cell that does not clearly differ from it."""

    leader: Count
    """Its place in `cells`, from 0."""
    tied: tuple[Count, ...]
    """Places of all cells without a clear difference from the leader, the leader included."""
    has_winner: bool
    """Whether the leader stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestDocument(Described):
    """Who leads a sweep."""

    latency: StandingDocument | None
    """By the time of a call."""
    throughput: StandingDocument | None
    """By the time of an item."""

    @classmethod
    def of(cls, standings: Standings) -> BestDocument:
        latency, throughput = standings.get("latency"), standings.get("throughput")
        return cls(
            latency=StandingDocument.from_fields(latency) if latency else None,
            throughput=StandingDocument.from_fields(throughput) if throughput else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmeasuredDocument(Described):
    """A model that could not be measured."""

    model: str
    """Its path, as in `models`."""
    error: FailureDocument
    """Why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkDocument(ResultHead):
    """What `modeldyno bench --json` and `BenchmarkResult.to_json()` give. Times in milliseconds,
    memory in bytes."""

    schema: Literal["modeldyno.benchmark/2"] = "modeldyno.benchmark/2"
    """Name and version of this format."""
    seed: int
    """Seed of inputs, orders and memory padding."""
    budget: Budget
    """How much time each cell might take."""
    model: ModelDocument
    """The first model."""
    models: tuple[ModelDocument, ...]
    """All models, in the order given."""
    runs: tuple[RunName, ...]
    """Run of each model, in the same order."""
    errors: tuple[UnmeasuredDocument, ...]
    """Models that could not be measured at all: they have no cell here."""
    host: HostFacts
    """The machine."""
    weather: WeatherDocument
    """What the machine did meanwhile."""
    artifacts: tuple[ArtifactDocument, ...]
    """Files that the run left, or all of these runs."""
    cells: tuple[CellDocument, ...]
    """Cells of all models, in the order requested."""
    best: BestDocument
    """Who leads a sweep, by latency per call and by throughput; null for a single cell, where the
    leading number is unusable, and where cells do not all compute the same."""
    best_by_workload: tuple[BestDocument, ...] = ()
    """Who leads among the cells that compute the same, where not all of them do: those of one size
    of the inputs."""

    @classmethod
    def of(
        cls, *results: BenchmarkResult, errors: Sequence[tuple[str, Failure]] = ()
    ) -> BenchmarkDocument:
        """Of one run, or of several models together. ``errors`` are of models that could not be
        measured at all, with their paths."""
        first = results[0]
        cells = [cell for result in results for cell in result.cells]
        models = tuple(ModelDocument.of(result.model) for result in results)
        return cls.from_fields(
            first,
            interrupted=any(result.interrupted for result in results),
            seed=first.spec.seed,
            budget=first.spec.budget,
            model=models[0],
            models=models,
            runs=tuple(result.run_id for result in results),
            errors=tuple(
                UnmeasuredDocument(model=path, error=FailureDocument.of(failure))
                for path, failure in errors
            ),
            weather=WeatherDocument.of(first.weather),
            artifacts=tuple(
                ArtifactDocument.from_fields(artifact)
                for result in results
                for artifact in result.artifacts
            ),
            cells=tuple(CellDocument.of(number, cell) for number, cell in enumerate(cells)),
            best=BestDocument.of(first.standings),
            best_by_workload=tuple(map(BestDocument.of, first.standings_by_workload)),
        )


# ---------------------------------------------------------------- as a table

_INTERVAL_COLUMNS = (
    "latency_ms_of",
    "latency_ms_repeat_low",
    "latency_ms_repeat_high",
    "repeat_runs",
)
_LEVELS = tuple(name for name, kind in get_type_hints(LatencyDocument).items() if kind is Figure)


def csv_columns() -> tuple[str, ...]:
    """In the order of the document: a figure that it declares last comes last, so that the others
    keep their places. Sizes come after all of them."""
    columns = [
        *("model", "engine", "engine_version", "device", "precision"),
        *(axis.name for axis in COUNTS),
        "status",
    ]
    for name in FIGURES:
        if name == "latency_ms":
            first, *others = (f"{name}_{level}" for level in _LEVELS)
            columns += [first, f"{name}_low", f"{name}_high", *others]
        elif name == "noise":
            columns += [name, "error"]
        elif name in figure_columns(CellDocument):
            columns.append(name)
    return (*columns, *(axis.name for axis in SIZES), *_INTERVAL_COLUMNS, "shape")


def benchmarks_csv(results: Sequence[BenchmarkResult], with_runs: bool = False) -> str:
    """One line per cell; ``with_runs`` begins it with the run."""
    has_artifacts = any(result.artifacts for result in results)
    columns = (*["run_id"] * with_runs, *csv_columns(), *[ARTIFACTS] * has_artifacts)
    rows = []
    for result in results:
        own = {"run_id": result.run_id, ARTIFACTS: artifacts_text(result.artifacts)}
        for number, cell in enumerate(result.cells):
            row = csv_row(CellDocument.of(number, cell)) | own
            rows.append({name: row[name] for name in columns})
    return csv_text(columns, rows)


def csv_row(cell: CellDocument) -> dict[str, object]:
    """One line of a table, by its columns."""
    latency, effective = cell.latency_ms, cell.effective
    levels = {f"latency_ms_{name}": getattr(latency, name).value for name in _LEVELS if latency}
    repeat = latency.typical.repeat if latency else None
    row: dict[str, object] = {
        name: plain_value(getattr(cell, name, None)) for name in csv_columns()
    }
    return (
        row
        | levels
        | {
            "engine_version": effective.engine_version if effective else None,
            "latency_ms_low": latency.typical.low if latency else None,
            "latency_ms_high": latency.typical.high if latency else None,
            "error": cell.error.title if cell.error else None,
            **{axis.name: sizes_text(getattr(cell, axis.name)) for axis in SIZES},
            "latency_ms_of": latency.typical.of if latency else None,
            "latency_ms_repeat_low": repeat.low if repeat else None,
            "latency_ms_repeat_high": repeat.high if repeat else None,
            "repeat_runs": repeat.runs if repeat else None,
        }
    )


def sizes_text(sizes: Mapping[str, int]) -> str | None:
    """``seq=128 width=224``; None where none was chosen."""
    return " ".join(f"{name}={size}" for name, size in sizes.items()) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioDocument(Described):
    """With its 95 % interval: over the pairs of a comparison, else over the sessions of each
    run, which leaves out what changed between them."""

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
    note: str = ""
    """That the two compute in different precisions; empty if they do not."""


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
    """A benchmark: its settings, its latest run, and the latest result of each cell."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CellJudgementDocument(Described):
    """Two cells of the same axes."""

    a: JudgedCell
    """What B is held against."""
    b: JudgedCell
    """What is held against A."""
    verdict: Judged
    """Of B, seen from A; `inconclusive`: no clear difference."""
    sentence: str
    """In words: B is 1.31× faster than A (1.24–1.38, 95 %)."""
    why: str
    """Why not comparable, or what to keep in mind; may be empty."""
    faster: Side | None
    """Null unless one clearly is."""
    speedup: RatioDocument | None
    """Of the faster one; null if none is."""
    ratio: RatioDocument | None
    """B's time by A's, per item, of what the work costs (the floor); null when not comparable."""
    typical_ratio: RatioDocument | None
    """The same of typical latencies."""
    basis: Basis | None
    """`alternation`: a comparison measured this pair in turns, which outranks numbers from
    `separate runs`."""
    comparison_id: Size | None
    """Number of that comparison."""
    pairs: Count | None
    """Of sessions, in that comparison."""

    @classmethod
    def of(cls, cell: CellJudgement) -> CellJudgementDocument:
        factor = None
        if cell.ratio is not None and cell.faster is not None:
            low, value, high = speedup(cell.ratio, cell.faster)
            factor = RatioDocument(value=value, low=low, high=high)
        return cls.from_fields(
            cell,
            speedup=factor,
            ratio=RatioDocument.of(cell.ratio),
            typical_ratio=RatioDocument.of(cell.typical_ratio),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDocument(Described):
    """Something that both sides have."""

    name: str
    """In words: engine version."""
    a: str | None
    """As text; null if A does not say."""
    b: str | None
    """As text; null if B does not say."""
    differs: bool
    """Whether they are not the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementDocument(Described):
    """Which of two benchmarks is quicker, cell by cell, with all settings side by side; also what
    `modeldyno compare 12 15 --json` prints of stored runs."""

    schema: Literal["modeldyno.judgement/1"] = "modeldyno.judgement/1"
    """Name and version of this format."""
    a: JudgedSide
    """What B is held against."""
    b: JudgedSide
    """What is held against A."""
    sentence: str
    """Of one pair its own; of several, how many went which way."""
    cells: tuple[CellJudgementDocument, ...]
    """Cells of the same axes, pair by pair."""
    unmatched_a: tuple[Count, ...]
    """Cells that B has no counterpart of."""
    unmatched_b: tuple[Count, ...]
    """Cells that A has no counterpart of."""
    settings: tuple[SettingDocument, ...]
    """All of them, of the first pair of cells."""
    settings_differing: Count
    """How many of those are not the same."""
    environment: tuple[SettingDocument, ...]
    """The machines, and what runs on them."""
    environment_differing: Count
    """How many of those are not the same."""

    @classmethod
    def of(cls, judgement: BenchmarkJudgement) -> JudgementDocument:
        return cls.from_fields(
            judgement,
            cells=tuple(map(CellJudgementDocument.of, judgement.cells)),
            settings=tuple(map(SettingDocument.from_fields, judgement.settings)),
            settings_differing=_count_differing(judgement.settings),
            environment=tuple(map(SettingDocument.from_fields, judgement.environment)),
            environment_differing=_count_differing(judgement.environment),
        )


def _count_differing(settings: tuple[Setting, ...]) -> int:
    return sum(setting.differs for setting in settings)
