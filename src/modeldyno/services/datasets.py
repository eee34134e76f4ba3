"""Datasets of projects, from the values of a form; custom ones get a code template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.dictionaries import DictionaryEntry, DictionaryName, names
from modeldyno.core.errors import BadValue, NotFound, StorageFailed
from modeldyno.core.ids import DatasetId, ProjectId
from modeldyno.datasets.typed_values import MOST_PARTS, convert_value, is_blank
from modeldyno.store.dictionaries import read_dictionaries
from modeldyno.store.records.all import Records

CUSTOM = "custom"
MOST_TRANSFORMS = 100
_TEMPLATE = Path(__file__).with_name("custom_dataset_template.txt")


@dataclass(frozen=True, kw_only=True)
class DatasetForm:
    """The values of a form, not checked yet."""

    project_id: ProjectId
    name: str
    location: str  # where the samples are
    dataloader: str
    parameters: Any
    filter: Any
    transforms: Any
    metric: str
    metric_parameters: Any


class DatasetService:
    """``folder`` is where code templates of custom datasets are written."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records = records
        self._folder = folder

    def add(self, form: DatasetForm) -> Dataset:
        """All or nothing. Raises BadValue for what no reader or transform takes."""
        new = new_dataset(form)
        with self._records.database.writing():
            dataset = self._records.datasets.add(new)
            metric = (dataset.metric or {}).get("name")
            if CUSTOM not in (dataset.kind, metric):
                return dataset
            code = _template_code(reads=dataset.kind == CUSTOM, judges=metric == CUSTOM)
            path = self._write_template(dataset, code)
            return self._records.datasets.set_template(dataset.id, str(path))

    def delete(self, dataset_id: DatasetId, name: str) -> bool:
        """Whether there was one of that number and name; raises StillUsed, with its users."""
        try:
            dataset = self._records.datasets.get(dataset_id)
        except NotFound:
            return False
        if dataset.name != name:
            return False
        self._records.datasets.delete(dataset_id)
        if dataset.template_path is not None:
            _remove_unchanged_template(Path(dataset.template_path))
        return True

    def _write_template(self, dataset: Dataset, code: str) -> Path:
        folder = re.sub(r"[^a-z0-9_-]+", "_", dataset.name.lower())[:50] or "dataset"
        path = self._folder / f"{folder}_{dataset.id}" / "code_template.py"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
        except OSError as error:
            raise StorageFailed(
                "The code template could not be written",
                why=error.strerror or str(error),
                fix="Free some space, or make the workspace writable",
            ) from error
        return path


def _template_code(*, reads: bool, judges: bool) -> str:
    """The class that reads samples, the one that judges answers, or both."""
    head, dataset, metric = _TEMPLATE.read_text(encoding="utf-8").strip().split("\n\n\nclass ")
    classes = [dataset] * reads + [metric] * judges
    return "\n\n\nclass ".join((head, *classes)) + "\n"


def _remove_unchanged_template(path: Path) -> None:
    ways = ((True, False), (False, True), (True, True))
    templates = [_template_code(reads=reads, judges=judges) for reads, judges in ways]
    with suppress(OSError, ValueError):  # deleted already, not text, or with files beside it
        if path.read_text(encoding="utf-8") in templates:
            path.unlink()
            path.parent.rmdir()


def new_dataset(form: DatasetForm) -> NewDataset:
    _require_entry("dataloader", form.dataloader)
    parameters = _parse_parameters("dataloader", form.dataloader, form.parameters)
    location = form.location.strip()
    entries = [entry for entry in _entries("dataloader") if entry.name == form.dataloader]
    if location and any(param.name == "root" for entry in entries for param in entry.params):
        parameters = {"root": ""} | parameters | {"root": location}
    return NewDataset(
        project_id=form.project_id,
        name=form.name,
        kind=form.dataloader,
        parameters=parameters,
        transforms=_parse_transforms(form.transforms),
        filter=_parse_filter(form.filter),
        metric=_parse_metric(form.metric, form.metric_parameters),
    )


def _parse_transforms(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list) or len(value) > MOST_TRANSFORMS:
        raise BadValue(
            f"transform must be a list of up to {MOST_TRANSFORMS}",
            fix='Send a list: [{"name": "Resize", "params": …}]',
        )
    transforms = []
    for transform in value:
        name = transform.get("name") if isinstance(transform, dict) else None
        if not isinstance(name, str):
            raise BadValue("A transform has no name", fix='Send {"name": "Resize", "params": …}')
        _require_entry("transform", name)
        parameters = _parse_parameters("transform", name, transform.get("params"))
        transforms.append({"name": name, "params": parameters})
    return tuple(transforms)


def _parse_filter(value: Any) -> dict[str, Any] | None:
    if not value:
        return None
    if not isinstance(value, dict) or len(value) > MOST_PARTS:
        raise BadValue("filter must be an object", fix='Send {"LabelBalance": {"size": 1}}')
    return value


def _parse_metric(name: str, value: Any) -> dict[str, Any] | None:
    if not name:
        return None
    params = _require_entry("metric", name).params
    if is_blank(value) or value == []:
        return {"name": name, "param": {}}
    if isinstance(value, dict) or _are_pairs(value):
        return {"name": name, "param": _parse_parameters("metric", name, value)}
    if len(params) != 1:
        raise BadValue(f"{name} has no parameter for that value", fix="Send an object")
    return {"name": name, "param": convert_value(params[0].type, params[0].name, value)}


def _parse_parameters(group: DictionaryName, owner: str, value: Any) -> dict[str, Any]:
    """Each as the type of its name; empty ones are left out."""
    parameters: dict[str, Any] = {}
    for name, text in _require_pairs(owner, value).items():
        type = read_dictionaries().type_of(group, owner, name)
        if type is None:
            entries = [entry for entry in _entries(group) if entry.name == owner]
            valid = [param.name for entry in entries for param in entry.params]
            raise BadValue(
                f"{owner} has no parameter {name[:100]!r}",
                fix=f"It has: {', '.join(valid)}" if valid else "It has none",
            )
        if type == "":
            parameters[name] = _parse_parameters(group, owner, text)
        elif not is_blank(text):
            parameters[name] = convert_value(type, name, text)
    return parameters


def _require_pairs(owner: str, value: Any) -> Mapping[str, Any]:
    """Of an object, or of a list of ``{"name": …, "value": …}``, as in the dictionaries."""
    if not value:
        return {}
    if _are_pairs(value):
        value = {pair["name"]: pair.get("params") or pair.get("value") for pair in value}
    if not isinstance(value, dict) or len(value) > MOST_PARTS:
        raise BadValue(f"The parameters of {owner} must be an object", fix='Send {"name": value}')
    return value


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, dict) and isinstance(pair.get("name"), str) for pair in value
    )


def _entries(group: DictionaryName) -> tuple[DictionaryEntry, ...]:
    entries: tuple[DictionaryEntry, ...] = getattr(read_dictionaries(), f"{group}s")
    return entries


def _require_entry(group: DictionaryName, name: str) -> DictionaryEntry:
    """The first of that name; raises BadValue."""
    entries = _entries(group)
    for entry in entries:
        if entry.name == name:
            return entry
    raise BadValue(
        f"There is no {group} {name[:100]!r}", fix=f"Choose one of: {', '.join(names(entries))}"
    )
