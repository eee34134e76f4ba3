"""What can be run, of a kind that has nothing of its own to keep beside its spec."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.runs import Runnable
from modeldyno.core.specs import RunSpec


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
