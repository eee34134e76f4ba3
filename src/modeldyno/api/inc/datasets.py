"""``dataset/…``"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from modeldyno.api.inc.naming import find_domain, find_framework
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.shapes import Json, dataset_shape, iterate_all_pages
from modeldyno.core.datasets import Dataset
from modeldyno.core.dictionaries import FLAVOURS, find_named
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import DatasetId, ProjectId
from modeldyno.services.datasets import DatasetForm
from modeldyno.store.dictionaries import read_dictionaries

if TYPE_CHECKING:
    from modeldyno.services.datasets import DatasetService
    from modeldyno.store.records.datasets import DatasetRecords

_REQUIRED = "project_id", "name", "dataset_path", "transform", "dataloader", "metric"
_REQUIRED_OF_PRESETS = "framework", "domain", "domain_flavour"


def operations(records: DatasetRecords, service: DatasetService) -> Operations:
    def list_datasets(parameters: Parameters) -> Json:
        project_id = ProjectId(parameters.id("project_id"))
        return {
            "datasets": [
                _dataset_row(dataset) for dataset in iterate_all_pages(records.page, project_id)
            ]
        }

    def details(parameters: Parameters) -> Json:
        try:
            return dataset_shape(records.get(DatasetId(parameters.id())))
        except NotFound as error:
            raise NotFound("Could not found specified dataset in database.") from error

    def add(parameters: Parameters) -> Json:
        return {"dataset_id": service.add(_read_form(parameters)).id}

    def delete(parameters: Parameters) -> Json:
        if "id" not in parameters or "name" not in parameters:
            raise BadValue("Missing dataset id or dataset name.")
        number = parameters.id()
        return {
            "id": number if service.delete(DatasetId(number), parameters.text("name")) else None
        }

    return {
        "dataset": details,
        "dataset/list": list_datasets,
        "dataset/add": add,
        "dataset/delete": delete,
        "dataset/predefined": _predefined_form,
    }


def _dataset_row(dataset: Dataset) -> Json:
    shape = dataset_shape(dataset)
    return {name: shape[name] for name in ("id", "name", "dataset_type", "created_at")}


def _read_form(parameters: Parameters) -> DatasetForm:
    _require_parameters(parameters, _REQUIRED)
    reader = parameters.nested("dataloader")
    return DatasetForm(
        project_id=ProjectId(parameters.id("project_id")),
        name=parameters.text("name"),
        location=parameters.text("dataset_path", ""),
        dataloader=reader.text("name"),
        parameters=reader.raw.get("params"),
        filter=reader.raw.get("filter"),
        transforms=parameters.raw["transform"] or [],
        metric=parameters.text("metric", ""),
        metric_parameters=parameters.raw.get("metric_param"),
    )


def _require_parameters(parameters: Parameters, names: Sequence[str]) -> None:
    """Documented as required, though forms send null for what is empty. Raises BadValue."""
    missing = [name for name in names if name not in parameters.raw]
    if missing:
        raise BadValue(MISSING, why=f"there is no {missing[0]}")


def _predefined_form(parameters: Parameters) -> Json:
    """If there is no preset, the user describes the dataset by hand; nothing else needs one."""
    _require_parameters(parameters, _REQUIRED_OF_PRESETS)
    framework = find_framework(parameters.text("framework")).name
    domain = find_domain(parameters.text("domain", ""))
    flavour = find_named(FLAVOURS, parameters.text("domain_flavour", ""))
    preset = read_dictionaries().preset(framework, domain, flavour.name if flavour else "")
    if preset is None:
        raise NotFound(
            f"Could not found predefined config for {framework} {domain}".strip(),
            fix="Describe the dataset by hand; the model can still be run",
        )
    if preset.dataloader is None:
        return {"transform": {}, "dataloader": {}, "metric": {}, "metric_param": {}}
    return {
        "transform": [*preset.transforms],
        "dataloader": preset.dataloader,
        "metric": preset.metric,
        "metric_param": preset.metric_param,
    }
