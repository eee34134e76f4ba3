"""Datasets of projects, as forms describe them: checked, typed, and with code to fill in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.dictionaries import DictionaryEntry, DictionaryName, names
from modeldyno.core.errors import BadValue, NotFound, StorageFailed
from modeldyno.core.ids import DatasetId, ProjectId
from modeldyno.services.dataset_code import code_for
from modeldyno.services.typed_values import MOST_PARTS, is_blank, typed
from modeldyno.store.dictionaries import dictionaries
from modeldyno.store.records.all import Records

CUSTOM = "custom"
MOST_TRANSFORMS = 100


@dataclass(frozen=True, kw_only=True)
class DatasetForm:
    """What somebody filled in; nothing of it is checked yet."""

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
    """``folder`` is where code is written for datasets that the user's own code reads."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records = records
        self._folder = folder

    def add(self, form: DatasetForm) -> Dataset:
        """All or nothing. Raises BadValue for what no reader or transform takes."""
        new = read(form)
        with self._records.database.writing():
            made = self._records.datasets.add(new)
            metric = (made.metric or {}).get("name")
            if CUSTOM not in (made.kind, metric):
                return made
            code = code_for(reads=made.kind == CUSTOM, judges=metric == CUSTOM)
            path = self._write(made, code)
            return self._records.datasets.set_template(made.id, str(path))

    def delete(self, dataset_id: DatasetId, name: str) -> bool:
        """Whether there was one of that number and name; raises StillUsed, with who uses it."""
        try:
            found = self._records.datasets.get(dataset_id)
        except NotFound:
            return False
        if found.name != name:
            return False
        self._records.datasets.delete(dataset_id)
        self._tidy(found)
        return True

    def _write(self, dataset: Dataset, code: str) -> Path:
        path = self._folder / f"{_file_name(dataset.name)}_{dataset.id}" / "code_template.py"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
        except OSError as error:
            raise StorageFailed(
                "The code template could not be written",
                why=error.strerror or str(error),
                fix="Free some space, or see that the workspace can be written",
            ) from error
        return path

    def _tidy(self, dataset: Dataset) -> None:
        """Code that somebody has worked on stays."""
        if dataset.template_path is None:
            return
        path = Path(dataset.template_path)
        ours = [code_for(reads=reads, judges=judges) for reads, judges in _WAYS]
        try:
            if path.read_text(encoding="utf-8") in ours:
                path.unlink()
                path.parent.rmdir()
        except (OSError, ValueError):  # gone, changed, or with files beside it
            return


_WAYS = ((True, False), (False, True), (True, True))


def read(form: DatasetForm) -> NewDataset:
    known = dictionaries()
    _expect(form.dataloader, known.dataloaders, "dataloader")
    parameters = _typed("dataloader", form.dataloader, form.parameters)
    if form.location.strip() and _has_root(form.dataloader):
        parameters = {"root": ""} | parameters | {"root": form.location.strip()}
    return NewDataset(
        project_id=form.project_id,
        name=form.name,
        kind=form.dataloader,
        parameters=parameters,
        transforms=_transforms(form.transforms),
        filter=_filter(form.filter),
        metric=_metric(form.metric, form.metric_parameters),
    )


def _has_root(dataloader: str) -> bool:
    entries = [entry for entry in dictionaries().dataloaders if entry.name == dataloader]
    return any(param.name == "root" for entry in entries for param in entry.params)


def _transforms(told: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(told, list) or len(told) > MOST_TRANSFORMS:
        raise BadValue(
            "transform is no list that we take",
            fix='Send a list: [{"name": "Resize", "params": …}]',
        )
    found = []
    for one in told:
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(name, str):
            raise BadValue("A transform has no name", fix='Send {"name": "Resize", "params": …}')
        _expect(name, dictionaries().transforms, "transform")
        found.append({"name": name, "params": _typed("transform", name, one.get("params"))})
    return tuple(found)


def _filter(told: Any) -> dict[str, Any] | None:
    if not told:
        return None
    if not isinstance(told, dict) or len(told) > MOST_PARTS:
        raise BadValue("filter is no object", fix='Send {"LabelBalance": {"size": 1}}')
    return told


def _metric(name: str, told: Any) -> dict[str, Any] | None:
    if not name:
        return None
    _expect(name, dictionaries().metrics, "metric")
    if is_blank(told) or told == []:
        return {"name": name, "param": {}}
    if isinstance(told, dict) or _are_pairs(told):
        return {"name": name, "param": _typed("metric", name, told)}
    entry = next(entry for entry in dictionaries().metrics if entry.name == name)
    if len(entry.params) != 1:
        raise BadValue(f"{name} has no parameter for that value", fix="Send an object")
    only = entry.params[0]  # its value may come without its name
    return {"name": name, "param": typed(only.type, only.name, told)}


def _typed(group: DictionaryName, owner: str, told: Any) -> dict[str, Any]:
    """Each as its name wants it; those that nobody filled in are left out."""
    found: dict[str, Any] = {}
    for name, value in _pairs(owner, told).items():
        type = dictionaries().type_of(group, owner, name)
        if type is None:
            known = [p.name for e in _entries(group) if e.name == owner for p in e.params]
            raise BadValue(
                f"{owner} has no parameter {name[:100]!r}",
                fix=f"It has: {', '.join(known)}" if known else "It has none",
            )
        if type == "":
            found[name] = _typed(group, owner, value)
        elif not is_blank(value):
            found[name] = typed(type, name, value)
    return found


def _pairs(owner: str, told: Any) -> Mapping[str, Any]:
    """Of an object, or of a list of ``{"name": …, "value": …}``, as the dictionaries have them."""
    if not told:
        return {}
    if _are_pairs(told):
        told = {one["name"]: one.get("params") or one.get("value") for one in told}
    if not isinstance(told, dict) or len(told) > MOST_PARTS:
        raise BadValue(f"The parameters of {owner} are no object", fix='Send {"name": value}')
    return told


def _are_pairs(told: Any) -> bool:
    return isinstance(told, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in told
    )


def _entries(group: DictionaryName) -> tuple[DictionaryEntry, ...]:
    found: tuple[DictionaryEntry, ...] = getattr(dictionaries(), f"{group}s")
    return found


def _expect(name: str, among: Iterable[DictionaryEntry], what: str) -> None:
    known = names(among)
    if name not in known:
        raise BadValue(
            f"There is no {what} {name[:100]!r}", fix=f"Choose one of: {', '.join(known)}"
        )


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "_", name.lower())[:50] or "dataset"
