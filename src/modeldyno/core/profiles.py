"""A profile: where a model spends its time, node by node."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from modeldyno.core.ids import DatasetId, ModelId, ProfileId, ProjectId, RunId
from modeldyno.core.runs import Runnable


@dataclass(frozen=True, kw_only=True)
class NewProfile:
    project_id: ProjectId
    model_id: ModelId
    name: str
    dataset_id: DatasetId | None = None
    settings: dict[str, Any] = field(default_factory=dict)  # threads, engine, batch size …


@dataclass(frozen=True, kw_only=True)
class Profile(Runnable, NewProfile):
    id: ProfileId
    modified_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A node of the graph in one run; times are of all its calls together."""

    run_id: RunId
    number: int
    node: str
    op_type: str
    total_s: float
    cpu_s: float | None = None
    accelerator_s: float | None = None
    calls: int = 1
    defined: int = 1


@dataclass(frozen=True, kw_only=True)
class OpTypeRow:
    """All nodes of one operator type together."""

    op_type: str
    nodes: int
    total_s: float
    cpu_s: float | None
    accelerator_s: float | None
    calls: int
    defined: int
