"""The runs that a workspace keeps, and the files that they left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Count, Described, Moment, RunName, Sha256
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure
from modeldyno.core.ids import RunId
from modeldyno.core.results import Verdict
from modeldyno.core.runs import RunKind, RunState, StoredRun


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
    """Ids of runs that are damaged, or of another version of Modeldyno."""

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
