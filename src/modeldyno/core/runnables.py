"""What can be run: of a kind that keeps its spec and nothing beside it; and all of them shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.runs import LatestRun, Runnable
from modeldyno.core.specs import RunSpec

V = TypeVar("V")


@dataclass(frozen=True)
class RunnableDetails(Generic[V]):
    """What a page about one shows, whatever its kind."""

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
    fingerprint: str | None = None  # of one that a terminal asked for


@dataclass(frozen=True, kw_only=True)
class PlainRunnable(Runnable, NewPlainRunnable):
    id: int
    modified_at: datetime | None = None
