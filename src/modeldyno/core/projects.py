"""Projects, and the overview of one: the best so far, what happened last, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from modeldyno.core.benchmarks import MeasuredCell
from modeldyno.core.documents.described import Described, KindSchema
from modeldyno.core.ids import BenchmarkId, ModelId, ProjectId, RunId
from modeldyno.core.results import Objective
from modeldyno.core.runs import RunState


@dataclass(frozen=True, kw_only=True)
class Project(Described):
    """Models that belong together, and what was done with them."""

    id: ProjectId
    """Its number."""
    name: str
    """Need not be unique."""
    created_at: datetime
    """In UTC."""
    modified_at: datetime | None = None
    """When it was changed."""
    is_draft: bool = False
    """Under way: not listed before somebody names it."""
    baseline_benchmark_id: BenchmarkId | None = None
    """The benchmark that the others are held against."""


ActivitySubject = Annotated[str, KindSchema("model")]  # or a kind of runs
Action = Literal[
    "add-model",
    "complete-model",
    "trust-model",
    "add-benchmark",
    "add-engine",
    "rerun-benchmark",
    "compare",
    "set-baseline",
    "add-profile",
]


@dataclass(frozen=True)
class Best:
    """The leading cell; with others in ``tied``, there is no best one."""

    objective: Objective
    leader: MeasuredCell | None
    tied: tuple[MeasuredCell, ...] = ()  # without a clear difference from the leader
    note: str = ""  # why there is no leader, or what to keep in mind

    @property
    def is_clear(self) -> bool:
        return self.leader is not None and not self.tied


@dataclass(frozen=True, kw_only=True)
class Happened(Described):
    """Something that happened in a project."""

    at: datetime
    """In UTC."""
    subject: ActivitySubject
    """To what."""
    id: int
    """Its number."""
    sentence: str
    """In words: Benchmark resnet50.onnx is done."""
    state: RunState | None = None
    """Of a run; null of a model that came."""
    run_id: str | None = None
    """Of a run."""


@dataclass(frozen=True, kw_only=True)
class NextStep(Described):
    """What somebody could do next."""

    sentence: str
    """Why: 1 engine measured; PyTorch reads this model, too."""
    action: Action
    """What the button does."""
    label: str
    """Of the button."""
    model_id: ModelId | None = None
    """With which model."""
    benchmark_id: BenchmarkId | None = None
    """With which benchmark."""
    other_benchmark_id: BenchmarkId | None = None
    """With which other one."""
    engine: str | None = None
    """With which engine."""


@dataclass(frozen=True)
class ProjectStanding:
    best: tuple[Best, ...]  # by latency, by throughput
    activity: tuple[Happened, ...]  # newest first
    next_steps: tuple[NextStep, ...]
    counts: dict[str, int]
    active: int  # jobs that wait or run
    model_names: dict[ModelId, str]
    documents: dict[RunId, tuple[str, ...]]  # of the cells of the runs in ``best``, as JSON
