"""The runs that a workspace keeps, the files that they left, and the space that all of it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Self

from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Moment,
    RunName,
    Sha256,
    Size,
    to_milliseconds,
)
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import CellProgress, JobMessage, Progress, Started
from modeldyno.core.results import Verdict
from modeldyno.core.runs import ACTIVE, RunKind, RunState, StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultHead(Described):
    """What the documents of all results begin with."""

    schema: str
    run_id: RunName
    """Name of the run's folder in the workspace."""
    created_at: Moment
    """When it ended: ISO 8601 with zone."""
    tool_version: str
    """Version of Modeldyno."""
    interrupted: bool
    """Whether somebody stopped it; what was measured is in the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDocument(Described):
    """A file that a run left."""

    name: str
    """Unique within the run."""
    sha256: Sha256
    """Of its content."""
    size_bytes: Count
    """Of its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocument(Described):
    """One run."""

    run_id: RunName
    """Name of the run's folder in the workspace."""
    number: Size
    """Short name of the run, counted through the workspace: commands take `12`."""
    created_at: Moment
    """When it began: ISO 8601 with zone."""
    kind: RunKind
    """What was measured."""
    models: tuple[str, ...]
    """Paths of the models, each once."""
    state: RunState
    """`interrupted`: its process is gone and did not end it."""
    units: Count
    """Sessions of a benchmark, pairs of a comparison or repeats of a profile that are kept."""
    latency_ms: Figure | None
    """Typical time of a call of a whole batch: of the quickest cell of a benchmark, unusable ones
    aside, or of a profile; null when nothing is known yet."""
    verdict: Verdict | None
    """Of a comparison."""
    ratio: Figure | None
    """time(B) / time(A) of a comparison; above 1: B is slower."""
    headline: str
    """The same in words, as the table has it."""
    error: FailureDocument | None
    """Why the run failed as a whole."""
    artifacts: tuple[ArtifactDocument, ...]
    """Files that it left."""

    @classmethod
    def of(cls, run: StoredRun) -> RunDocument:
        comparison = run.result.compared() if run.result else None
        return cls.from_fields(
            run,
            units=sum(run.sessions),
            latency_ms=run.result.latency_ms() if run.result else None,
            verdict=comparison.verdict if comparison else None,
            ratio=Figure.of_estimate(comparison.ratio) if comparison else None,
            error=FailureDocument.of(run.failure) if run.failure else None,
            artifacts=tuple(map(ArtifactDocument.from_fields, run.artifacts)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsDocument(Described):
    """What `modeldyno ls --json` gives, and `modeldyno show --json` of a run that has no result."""

    schema: Literal["modeldyno.runs/2"] = "modeldyno.runs/2"
    """Name and version of this format."""
    runs: tuple[RunDocument, ...]
    """Newest first."""
    unreadable: tuple[str, ...] = ()
    """Ids of runs that are damaged, or from another version of Modeldyno."""

    @classmethod
    def of(cls, runs: Sequence[StoredRun], unreadable: Sequence[str] = ()) -> RunsDocument:
        return cls(runs=tuple(map(RunDocument.of, runs)), unreadable=tuple(unreadable))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexDocument(Described):
    """What `modeldyno reindex --json` prints."""

    schema: Literal["modeldyno.reindex/1"] = "modeldyno.reindex/1"
    """Name and version of this document."""
    is_check: bool
    """Whether rows were only compared."""
    checked: int
    """Folders of runs that there are."""
    missing: tuple[RunId, ...] = ()
    """Ids of runs that had no row."""
    different: tuple[RunId, ...] = ()
    """Ids of runs whose rows had other figures or cells."""
    without_folder: tuple[RunId, ...] = ()
    """Ids of ended runs that only the database has; their rows are left alone."""
    unreadable: tuple[RunId, ...] = ()
    """Ids of runs whose folders cannot be read."""

    @property
    def is_same(self) -> bool:
        return not (self.missing or self.different)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedDocument(Described):
    """What `modeldyno rm --json` gives."""

    schema: Literal["modeldyno.removed/1"] = "modeldyno.removed/1"
    """Name and version of this format."""
    removed: tuple[str, ...]
    """Ids of the runs that are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProgressDocument(Described):
    """How far one cell of a running benchmark is."""

    name: str
    """In words: onnxruntime · 1 core · batch 1."""
    sessions: Count
    """That are kept."""
    state: Literal["measuring", "done", "failed"]
    """Whether it is over."""
    estimate_ms: Amount | None
    """The latency so far."""
    relative_half_width: Amount | None
    """Half its interval over the units so far, as a share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressDocument(Described):
    """How far a running job is: units are sessions of cells, or pairs of a comparison."""

    headline: str = ""
    """The model's name."""
    units_done: Count = 0
    """Sessions or pairs that are kept."""
    units_planned: Count = 0
    """How many there will be."""
    doing: str = ""
    """What happens right now."""
    estimate_ms: Amount | None = None
    """The latency so far."""
    relative_half_width: Amount | None = None
    """Half its interval over the units so far, as a share of it."""
    remaining_s: Amount | None = None
    """About how much longer."""
    ratio: Amount | None = None
    """Of a comparison: time(B) / time(A) so far."""
    cells: tuple[CellProgressDocument, ...] = ()
    """Of a benchmark."""
    notices: tuple[str, ...] = ()
    """What to know while it runs, e.g. that it will take longer than its budget."""

    @classmethod
    def of(cls, progress: Progress | None, units_planned: int, **others: Any) -> Self:
        """``units_planned`` counts as long as nothing was heard of it."""
        if progress is None:
            return cls(units_planned=units_planned, **others)
        cells = tuple(
            CellProgressDocument.from_fields(cell, estimate_ms=to_milliseconds(cell.estimate_s))
            for cell in progress.cells
        )
        ms = to_milliseconds(progress.estimate_s)
        return cls.from_fields(progress, estimate_ms=ms, cells=cells, **others)

    def messages(self, before: ProgressDocument | None) -> Iterator[JobMessage]:
        """What listeners of a job hear of it after ``before``: as here, where it runs."""
        if before is None:
            yield Started(self.headline, self.units_planned)
        progress = self.progress()
        for notice in self.notices[len(before.notices) if before else 0 :]:
            yield replace(progress, notice=notice)
        if self.doing or self.units_done:
            yield progress

    def progress(self) -> Progress:
        """As listeners of ``modeldyno.bench`` get it."""
        return Progress(
            self.units_done,
            self.units_planned,
            self.doing,
            _ms_to_seconds(self.estimate_ms),
            self.relative_half_width,
            self.remaining_s,
            self.ratio,
            tuple(
                CellProgress(
                    cell.name,
                    cell.sessions,
                    cell.state,
                    _ms_to_seconds(cell.estimate_ms),
                    cell.relative_half_width,
                )
                for cell in self.cells
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgressDocument(ProgressDocument):
    """The same of one job, as an event tells it."""

    id: Size
    """Number of the job."""
    run_id: RunName
    """The run that it is."""


def _ms_to_seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDocument(Described):
    """A run that waits or executes; afterwards, what became of it."""

    id: Size
    """Its number."""
    run_id: RunName
    """The run that it is."""
    kind: RunKind
    """What is run."""
    of_id: Size
    """Number of the benchmark, comparison and so on."""
    name: str
    """Of that benchmark, comparison and so on."""
    project_id: Size
    """Number of its project."""
    state: RunState
    """Where it is."""
    place: Size | None
    """In the queue, from 1; null when it does not wait."""
    reason: str
    """Why it waits, or what became of it."""
    priority: int
    """Higher goes first."""
    attempts: Count
    """How often it was started."""
    queued_at: datetime
    """In UTC."""
    started_at: datetime | None
    """In UTC."""
    finished_at: datetime | None
    """In UTC."""
    progress: ProgressDocument | None
    """How far it is while it runs, else null."""

    @property
    def is_over(self) -> bool:
        return self.state not in ACTIVE

    @property
    def estimate_ms(self) -> float | None:
        return self.progress.estimate_ms if self.progress else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsDocument(Described):
    """What `modeldyno jobs ls --json` gives; `cancel` and `resume` give the jobs they change."""

    schema: Literal["modeldyno.jobs/1"] = "modeldyno.jobs/1"
    """Name and version of this format."""
    jobs: tuple[JobDocument, ...]
    """The newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreDocument(Described):
    """A core that may be measured on, and who does."""

    core: Count
    """A CPU, as the system numbers it."""
    job_id: Size | None = None
    """Null: no job of this server measures on it."""
    since: datetime | None = None
    """When the job took it."""
    used_by: str | None = None
    """Another process on this machine that measures on it: modeldyno pid 4711; null: none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDocument(Described):
    """What runs, what waits, and who has which core."""

    is_paused: bool
    """What runs goes on; nothing else begins."""
    cores: tuple[CoreDocument, ...]
    """Those that may be measured on. A job that measures has its cores to itself."""
    running: tuple[JobDocument, ...]
    """What is measured now."""
    waiting: tuple[JobDocument, ...]
    """In the order in which they will begin."""


# ---------------------------------------------------------------- space


PartName = Literal[
    "runs", "samples", "models", "own models", "datasets", "environments", "caches", "database",
    "other",
]  # fmt: skip
Removable = Literal["runs", "samples", "caches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePartDocument(Described):
    """One of the things that a workspace holds."""

    name: PartName
    """What it is."""
    size_bytes: Count
    """On the disk; a file with several names counts once."""
    files: Count
    """How many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDocument(Described):
    """What `modeldyno du --json` gives."""

    schema: Literal["modeldyno.usage/1"] = "modeldyno.usage/1"
    """Name and version of this format."""
    workspace: str
    """Its path."""
    parts: tuple[UsagePartDocument, ...]
    """Each is in one part."""
    size_bytes: Count
    """Of all parts."""
    free_bytes: Count
    """Of the disk that the workspace is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedPartDocument(Described):
    """What goes of one sort."""

    name: Removable
    """What it is."""
    count: Count
    """Runs, runs whose samples go, or cached files and folders."""
    size_bytes: Count
    """What they use on the disk."""
    runs: tuple[RunName, ...]
    """Which; empty of caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDocument(Described):
    """What `modeldyno prune --json` gives."""

    schema: Literal["modeldyno.prune/1"] = "modeldyno.prune/1"
    """Name and version of this format."""
    is_dry_run: bool
    """Whether nothing was removed: this is what would be."""
    parts: tuple[PrunedPartDocument, ...]
    """What was requested, and what it comes to."""
    size_bytes: Count
    """Of all parts."""
