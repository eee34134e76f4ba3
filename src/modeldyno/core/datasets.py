"""A dataset of a project: where samples come from, and what is done to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from modeldyno.core.codec import encode
from modeldyno.core.ids import DatasetId, ProjectId


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """All that is needed to read it."""

    name: str
    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    transforms: tuple[dict[str, Any], ...] = ()
    filter: dict[str, Any] | None = None
    metric: dict[str, Any] | None = None
    template_path: str | None = None

    @classmethod
    def upgraded(cls, data: Any) -> Any:
        """Benchmarks of earlier versions know the number of theirs, and nothing else."""
        return {"name": data, "kind": ""} if isinstance(data, str) else data

    def identity(self) -> Any:
        """What two specs must share to be on the same dataset."""
        return encode(self) if self.kind else self.name


@dataclass(frozen=True, kw_only=True)
class NewDataset:
    project_id: ProjectId
    name: str
    kind: str  # ``dummy_v2``, ``ImageFolder`` …: who reads it
    parameters: dict[str, Any] = field(default_factory=dict)
    transforms: tuple[dict[str, Any], ...] = ()
    filter: dict[str, Any] | None = None
    metric: dict[str, Any] | None = None
    template_path: str | None = None  # of one whose code the user writes


@dataclass(frozen=True, kw_only=True)
class Dataset(NewDataset):
    id: DatasetId
    created_at: datetime

    def spec(self) -> DatasetSpec:
        values = {field.name: getattr(self, field.name) for field in fields(DatasetSpec)}
        return DatasetSpec(**values)


def transform_of(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Its name and its parameters, which may stand beside the name or together in ``params``."""
    rest = {key: value for key, value in entry.items() if key != "name"}
    return str(entry.get("name", "")), rest.get("params", rest)


def by_name(transforms: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """In their order; the second of a name has a number, so that none is lost."""
    named: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for one in transforms:
        name, params = transform_of(one)
        counts[name] += 1
        named[f"{name} {counts[name]}" if counts[name] > 1 else name] = params
    return named
