"""Runs and what has them: states and the moves between them, files left behind, pages of a list."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

from modeldyno.core import figures
from modeldyno.core.documents.described import KindSchema
from modeldyno.core.ids import JobId, ModelId, ProjectId, RunId
from modeldyno.core.specs import RunSpec

if TYPE_CHECKING:
    from modeldyno.core.documents.runnables import SummaryDocument
    from modeldyno.core.results import BenchmarkResult, CellResult, Failure, RunResult

RunState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
State = Literal["draft"] | RunState  # of a runnable: a draft has not run yet
RunKind = Annotated[str, KindSchema()]  # one of core/kinds.py

MOVES: dict[RunState, tuple[RunState, ...]] = {
    "queued": ("running", "failed", "cancelled", "interrupted"),
    "running": ("done", "failed", "cancelled", "interrupted"),
    "done": ("running",),  # another run of the same benchmark adds units
    "failed": ("queued", "running"),
    "cancelled": ("queued", "running"),
    "interrupted": ("queued", "running"),
}
ACTIVE: tuple[RunState, ...] = ("queued", "running")


def may_move(before: RunState, after: RunState) -> bool:
    return after in MOVES[before]


def shortest_path(before: RunState, after: RunState) -> tuple[RunState, ...]:
    """The states of the shortest legal path, ``before`` left out: for an observer that polls."""
    paths: deque[tuple[RunState, ...]] = deque([()])
    while True:
        path = paths.popleft()
        state = path[-1] if path else before
        if state == after:
            return path
        paths.extend((*path, following) for following in MOVES[state] if following not in path)


class Summarised:
    """The figures of a run that lists show, as JSON text."""

    summary_json: str  # a SummaryDocument

    @property
    def summary(self) -> SummaryDocument:
        return read_summary(self.summary_json)


def read_summary(text: str) -> SummaryDocument:
    from modeldyno.core.documents.runnables import SummaryDocument

    return SummaryDocument.read(text)


@dataclass(frozen=True, kw_only=True)
class Runnable(Summarised):
    """What benchmarks, comparisons, optimizations and profiles have in common."""

    created_at: datetime
    state: State = "draft"
    last_run_at: datetime | None = None
    summary_json: str = "{}"


@dataclass(frozen=True, kw_only=True)
class LatestRun:
    """The latest run of a runnable, as its page shows it."""

    id: RunId
    state: RunState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    failure: dict[str, str] | None
    job_id: JobId | None  # None of a run of the terminal


@dataclass(frozen=True)
class RunOf:
    """The runnable that a run belongs to."""

    kind: RunKind
    id: int


@dataclass(frozen=True, kw_only=True)
class Run(Summarised):
    """One execution, as the database knows it; its files are in ``runs/<id>`` of the workspace."""

    id: RunId
    of: RunOf
    project_id: int
    state: RunState
    spec: dict[str, Any]  # as in spec.json
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tool_version: str | None = None
    machine: str | None = None  # that measured it, if known
    failure: dict[str, str] | None = None  # code, title, why, fix
    summary_json: str = "{}"


@dataclass(frozen=True)
class Artifact:
    """A file that a run leaves; it is on the disk and hashed before it is announced."""

    name: str
    sha256: str
    size_bytes: int
    kind: Literal["artifact"] = "artifact"

    @property
    def text(self) -> str:
        return f"{self.name}, {figures.size(self.size_bytes)}, SHA-256 {self.sha256}"


V = TypeVar("V")


@dataclass(frozen=True)
class RunnableDetails(Generic[V]):
    """What the page of a runnable shows, whatever its kind."""

    runnable: V
    model_names: tuple[str, ...]  # in the order of the models of its spec
    latest: LatestRun | None


@dataclass(frozen=True, kw_only=True)
class NewPlainRunnable:
    project_id: ProjectId
    model_id: ModelId
    name: str
    spec: RunSpec
    rerun_of: int | None = None
    fingerprint: str | None = None  # of one requested by a terminal


@dataclass(frozen=True, kw_only=True)
class PlainRunnable(Runnable, NewPlainRunnable):
    id: int
    modified_at: datetime | None = None


@dataclass(frozen=True)
class StoredRun:
    run_id: RunId
    number: int  # of the workspace, and never of another run: #12
    created_at: str  # when it began
    state: RunState
    spec: RunSpec
    sessions: tuple[int, ...]  # of each cell; of a comparison its pairs, of a profile its repeats
    cell_names: tuple[str, ...] = ()  # of a benchmark, in the same order
    result: RunResult | None = None
    failure: Failure | None = None
    artifacts: tuple[Artifact, ...] = ()

    @property
    def kind(self) -> RunKind:
        return self.spec.kind

    @property
    def models(self) -> tuple[str, ...]:
        """Paths, each once."""
        return tuple(dict.fromkeys(model.path for model in self.spec.models()))

    @property
    def subject(self) -> str:
        return self.spec.title()

    @property
    def kept(self) -> str:
        """``7 sessions``."""
        return figures.counted(sum(self.sessions), self.spec.unit)

    @property
    def headline(self) -> str:
        """The number, or why there is none."""
        if self.result is not None:
            return self.result.headline()
        return self.failure.title if self.failure else f"{self.kept} so far"


def find_quickest_cell(result: BenchmarkResult) -> CellResult | None:
    """The cell with the lowest typical latency; an unusable one only if all are."""
    measured = [cell for cell in result.cells if cell.measurement is not None]
    return min(measured, key=lambda cell: (cell.is_unusable, _typical_s(cell)), default=None)


def _typical_s(cell: CellResult) -> float:
    assert cell.measurement is not None
    return cell.measurement.latency.typical.value


def benchmark_headline(result: BenchmarkResult) -> str:
    best = find_quickest_cell(result)
    if best is None or best.measurement is None:
        return next((cell.error.title for cell in result.cells if cell.error), "nothing measured")
    typical = best.measurement.latency.typical
    scale, unit = figures.unit_for([typical.value])
    skipped = any(cell.is_unusable for cell in result.cells) and not best.is_unusable
    lowest = "lowest usable" if skipped else "lowest"
    of = f", {lowest} of {len(result.cells)} cells" if len(result.cells) > 1 else ""
    return f"{figures.estimate(typical, scale)} {unit}, {best.measurement.noise}{of}"


T = TypeVar("T")

LARGEST_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class ListQuery:
    """All conditions must hold; a list refuses those it does not support."""

    project_id: ProjectId | None = None
    engine: str | None = None
    state: State | None = None
    cell: dict[str, Any] = field(default_factory=dict)  # of one of its cells, by axis
    text: str = ""  # part of the name, ignoring case
    since: datetime | None = None  # created then or later
    until: datetime | None = None  # created before
    sort: str = "created"
    descending: bool = True
    limit: int = 20
    cursor: str | None = None  # ``Page.next`` of the page before


@dataclass(frozen=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next: str | None = None  # None on the last page
