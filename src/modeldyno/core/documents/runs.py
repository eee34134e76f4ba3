"""The runs that a workspace keeps, as ``modeldyno ls`` lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.artifact import ArtifactDocument
from modeldyno.core.documents.described import Count, Described, Moment, RunName
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.figure import Figure
from modeldyno.core.history import KeptRun
from modeldyno.core.results import Verdict
from modeldyno.core.runs import RunKind, RunState


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
    def of(cls, run: KeptRun) -> RunDocument:
        comparison = run.result.compared() if run.result else None
        return cls.from_fields(
            run,
            units=sum(run.sessions),
            latency_ms=run.result.latency_ms() if run.result else None,
            verdict=comparison.verdict if comparison else None,
            ratio=Figure.of_estimate(comparison.ratio) if comparison else None,
            error=FailureDocument.of(run.failure) if run.failure else None,
            artifacts=tuple(map(ArtifactDocument.of, run.artifacts)),
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
    def of(cls, runs: Sequence[KeptRun], unreadable: Sequence[str] = ()) -> RunsDocument:
        return cls(runs=tuple(map(RunDocument.of, runs)), unreadable=tuple(unreadable))
