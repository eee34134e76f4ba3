"""Whatever can be run, as a server keeps it, and the run that it had last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from modeldyno.core.documents.described import Described, RunName, Size
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.runs import LatestRun, RunState, State


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes(Described):
    """What all documents of a run begin with."""

    id: RunName
    """Name of the run's folder in the workspace; sorts by time."""
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
    def of(cls, run: LatestRun | None) -> LatestRunSummary | None:
        if run is None:
            return None
        return cls.from_fields(run, failure=FailureDocument.of_record(run.failure))


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
