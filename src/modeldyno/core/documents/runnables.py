"""What lists and pages show of everything that can be run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args, get_type_hints

from modeldyno.core.cell_axes import NAMES, items_of
from modeldyno.core.documents.cells import CellDocument, SharedAxes
from modeldyno.core.documents.described import Amount, Count, Described, RunName, Size, field_names
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure, LevelDocument
from modeldyno.core.ids import RunId
from modeldyno.core.requests.axes import axis_fields, drop_duplicates, with_effective_settings
from modeldyno.core.results import ComparisonResult, Noise, ProfileResult, Verdict
from modeldyno.core.runs import LatestRun, RunState, State
from modeldyno.core.specs import CellSpec, RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDocument(SharedAxes):
    """What a list shows of a run; of several cells, that of the lowest typical latency."""

    latency_ms: LevelDocument | None = None
    """Of a whole batch; null before it is measured."""
    throughput_per_s: Figure | None = None
    """Items per second."""
    interval_note: str | None = None
    """Why there is no interval, where there is none."""
    sessions: Count | None = None
    """What an interval counts."""
    samples: Count | None = None
    """Timings taken."""
    noise: Noise | None = None
    """How far to trust it."""
    noise_reasons: tuple[str, ...] = ()
    """Why it is called so, and what to do about it."""
    peak_memory_bytes: int | None = None
    """Of model and inferences, without the engine."""
    page_faults: Amount | None = None
    """Pages of memory that a call had to wait for."""
    accuracy: float | None = None
    """Null: not measured."""
    verdict: Verdict | None = None
    """Of a comparison."""
    ratio: Figure | None = None
    """Of a comparison: B's time by A's."""

    @classmethod
    def of_spec(cls, spec: RunSpec) -> SummaryDocument:
        """Before anything is measured: the settings that all cells share."""
        cells = spec.configurations()
        return cls(**_axes_fields({name: _shared_value(cells, name) for name in NAMES}))

    @classmethod
    def of_cell(cls, cell: CellDocument) -> SummaryDocument:
        latency = cell.latency_ms
        return cls.from_fields(
            cell,
            **_axes_fields(axis_fields(cell)),
            latency_ms=None
            if latency is None
            else LevelDocument(
                **{
                    name: _figure_for_list(getattr(latency, name))
                    for name in field_names(LevelDocument)
                }
            ),
            throughput_per_s=cell.throughput_per_s and _figure_for_list(cell.throughput_per_s),
        )

    @classmethod
    def of_comparison(cls, result: ComparisonResult) -> SummaryDocument:
        ratio = result.ratio
        return cls(
            engine=result.b.facts.engine,
            device=result.b.facts.device,
            noise=result.noise,
            verdict=result.verdict,
            ratio=Figure(
                value=ratio.value,
                low=ratio.low,
                high=ratio.high,
                level=ratio.level,
                of=ratio.units,
                n=ratio.n,
            ),
        )

    @classmethod
    def of_profile(cls, result: ProfileResult) -> SummaryDocument:
        (cell,), latency_s = result.spec.configurations(), result.latency_s
        span = result.ci95_s_by_figure.get("latency")
        latency = LevelDocument.of(
            Figure.of_span(latency_s, span, result.repeats), Figure(value=result.floor_s * 1e3)
        )
        return cls(
            **_axes_fields(
                axis_fields(with_effective_settings(cell, result.batch_size, result.facts))
            ),
            latency_ms=latency if math.isfinite(latency_s) else None,
            throughput_per_s=Figure(value=result.batch_size / latency_s) if latency_s else None,
            sessions=result.repeats,
            samples=result.calls,
            noise=result.noise,
            noise_reasons=result.reasons,
        )

    def without_figures(self) -> SummaryDocument:
        """The settings alone: what is known of the next run."""
        return SummaryDocument(**_axes_fields(axis_fields(self)))


def _find_number_paths() -> Iterator[tuple[str, str]]:
    for name, hint in get_type_hints(SummaryDocument).items():
        kinds = get_args(hint) or (hint,)
        if Figure in kinds:
            yield name, f"{name}.value"
        elif int in kinds or float in kinds:
            yield name, name


# What lists can be sorted by, and where it is in the JSON: every number of a summary.
NUMBER_PATHS = dict(_find_number_paths())


def _axes_fields(axes: dict[str, Any]) -> dict[str, Any]:
    """No engine stands for the first that reads the model, no sizes for the model's own."""
    return {name: value or None for name, value in axes.items()} | {"items": items_of(axes)}


def _shared_value(cells: tuple[CellSpec, ...], name: str) -> Any:
    """The value that all cells have, or None."""
    values = drop_duplicates(getattr(cell, name) for cell in cells)
    return values[0] if len(values) == 1 else None


def _figure_for_list(figure: Figure) -> Figure:
    """An interval within sessions leaves out what differs between them: lists do not show it."""
    return Figure(value=figure.value) if figure.of == "samples" else figure


NumbersOf = Callable[[Iterable[RunId]], Mapping[RunId, int]]  # of runs


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes(Described):
    """What all documents of a run begin with."""

    id: RunName
    """Name of the run's folder in the workspace; sorts by time."""
    number: Size
    """Short name of the run, counted through the workspace: commands of the terminal take `12`."""
    state: RunState
    """Where it is."""
    created_at: datetime
    """When it was put in the queue, or begun in a terminal."""
    started_at: datetime | None
    """In UTC."""
    finished_at: datetime | None
    """In UTC."""
    failure: FailureDocument | None
    """Why it failed as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestRunSummary(RunTimes):
    """The latest run of what can be run."""

    job_id: Size | None
    """Null of a run of the terminal."""

    @classmethod
    def of(cls, run: LatestRun | None, numbers_of: NumbersOf) -> LatestRunSummary | None:
        if run is None:
            return None
        number = numbers_of([run.id])[run.id]
        failure = FailureDocument.of_record(run.failure)
        return cls.from_fields(run, number=number, failure=failure)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnableHead(Described):
    """What all documents of what can be run begin with."""

    id: Size
    """Its number among those of its kind."""
    project_id: Size
    """Number of its project."""
    name: str
    """As people call it."""
    state: State
    """Of its latest run; `draft` before the first."""
    created_at: datetime
    """In UTC."""
    last_run_at: datetime | None
    """When its latest run began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnableSummary(RunnableHead):
    """A line of a list of some kind that shows nothing of its own."""

    model_id: Size
    """Number of its model."""
    modified_at: datetime | None
    """When it was changed."""
    rerun_of: Size | None
    """The one that it repeats."""
    summary: SummaryDocument
    """Of its latest run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnableDocument(RunnableSummary):
    """One of some kind that shows nothing of its own."""

    model_name: str
    """Of its model."""
    settings: dict[str, Any]
    """As they were requested."""
    latest_run: LatestRunSummary | None
    """Null before the first."""
    command: str
    """Does the same in a terminal; empty if nothing does."""
