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
    """Everything needed to read a dataset."""

    name: str
    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    transforms: tuple[dict[str, Any], ...] = ()
    filter: dict[str, Any] | None = None
    metric: dict[str, Any] | None = None
    template_path: str | None = None

    @classmethod
    def upgraded(cls, stored: Any) -> Any:
        """Benchmarks of earlier versions store its number alone."""
        return {"name": stored, "kind": ""} if isinstance(stored, str) else stored

    def identity(self) -> Any:
        """What specs on the same dataset share."""
        return encode(self) if self.kind else self.name


@dataclass(frozen=True, kw_only=True)
class NewDataset:
    project_id: ProjectId
    name: str
    kind: str  # its reader: ``dummy_v2``, ``ImageFolder`` …
    parameters: dict[str, Any] = field(default_factory=dict)
    transforms: tuple[dict[str, Any], ...] = ()
    filter: dict[str, Any] | None = None
    metric: dict[str, Any] | None = None
    template_path: str | None = None  # if the user writes its code


@dataclass(frozen=True, kw_only=True)
class Dataset(NewDataset):
    id: DatasetId
    created_at: datetime

    def spec(self) -> DatasetSpec:
        values = {field.name: getattr(self, field.name) for field in fields(DatasetSpec)}
        return DatasetSpec(**values)


def transform_of(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Its name and its parameters, which may be beside the name or below ``params``."""
    rest = {key: value for key, value in entry.items() if key != "name"}
    return str(entry.get("name", "")), rest.get("params", rest)


def by_name(transforms: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """In order; repeated names are numbered, so that none is lost."""
    named: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for transform in transforms:
        name, params = transform_of(transform)
        counts[name] += 1
        named[f"{name} {counts[name]}" if counts[name] > 1 else name] = params
    return named
