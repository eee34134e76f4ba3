"""Projects as a server keeps them, their overview, and their datasets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.described import Count, Described, Size
from modeldyno.core.projects import Happened, NextStep, Project
from modeldyno.core.results import Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDocument(Project):
    """A project, with how many of each kind of thing it has."""

    counts: dict[str, int]
    """By kind: model, dataset, benchmark and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument(Described):
    """Where the demonstration is."""

    project_id: Size
    """Number of its project."""


# ---------------------------------------------------------------- overview


@dataclass(frozen=True, slots=True, kw_only=True)
class ContenderDocument(Described):
    """A cell that leads, or ties with the one that does."""

    benchmark_id: Size
    """Number of its benchmark."""
    name: str
    """Of the benchmark."""
    model_id: Size
    """Number of its model."""
    model_name: str
    """Of the model."""
    cell: CellDocument
    """As it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderDocument(Described):
    """Who leads by one figure; with others in `tied`, nobody is called the best."""

    objective: Objective
    """By what."""
    is_clear: bool
    """Somebody leads, and nobody ties."""
    leader: ContenderDocument | None
    """Not the best when others tie."""
    tied: tuple[ContenderDocument, ...]
    """Without a clear difference from the leader."""
    note: str
    """Why there is none, or what to keep in mind; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsDocument(Described):
    """How many of each there are in a project."""

    models: Count
    """Of any state."""
    datasets: Count
    """Of any kind."""
    benchmarks: Count
    """Whether they ran or not."""
    comparisons: Count
    """Whether they ran or not."""
    optimizations: Count
    """Whether they ran or not."""
    profiles: Count
    """Whether they ran or not."""
    active_jobs: Count
    """That wait or run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewDocument(Described):
    """The best so far, what happened last, and what to do next."""

    best: tuple[LeaderDocument, ...]
    """By latency, then by throughput."""
    activity: tuple[Happened, ...]
    """Newest first."""
    next_steps: tuple[NextStep, ...]
    """Three at most."""
    counts: CountsDocument
    """How many of each there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDocument(Described):
    """Where samples come from, and what is done to them. Where the code of one lies is left out."""

    id: Size
    """Its number."""
    project_id: Size
    """Number of its project."""
    name: str
    """As people call it."""
    kind: str
    """What reads it: dummy_v2, ImageFolder and so on."""
    parameters: dict[str, Any]
    """What its reader needs."""
    transforms: tuple[dict[str, Any], ...]
    """What is done to each sample, in this order."""
    filter: dict[str, Any] | None
    """Which samples count; null: all."""
    metric: dict[str, Any] | None
    """How answers are judged."""
    created_at: datetime
    """In UTC."""
