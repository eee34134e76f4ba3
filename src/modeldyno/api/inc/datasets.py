"""``dataset/…``"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.dataset_shape import dataset_row, dataset_shape
from modeldyno.api.inc.naming import domain_named, framework_named
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.shapes import everything
from modeldyno.core.dictionaries import FLAVOURS, find_named
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import DatasetId, ProjectId
from modeldyno.services.datasets import DatasetForm
from modeldyno.store.dictionaries import dictionaries

if TYPE_CHECKING:
    from modeldyno.services.datasets import DatasetService
    from modeldyno.store.records.datasets import DatasetRecords

_REQUIRED = "project_id", "name", "dataset_path", "transform", "dataloader", "metric"
_REQUIRED_OF_PRESETS = "framework", "domain", "domain_flavour"


def operations(records: DatasetRecords, service: DatasetService) -> Operations:
    def listed(asked: Parameters) -> dict[str, Any]:
        project_id = ProjectId(asked.id("project_id"))
        return {"datasets": [dataset_row(one) for one in everything(records.page, project_id)]}

    def details(asked: Parameters) -> dict[str, Any]:
        try:
            return dataset_shape(records.get(DatasetId(asked.id())))
        except NotFound as error:
            raise NotFound("Could not found specified dataset in database.") from error

    def add(asked: Parameters) -> dict[str, Any]:
        return {"dataset_id": service.add(_form(asked)).id}

    def delete(asked: Parameters) -> dict[str, Any]:
        if "id" not in asked or "name" not in asked:
            raise BadValue("Missing dataset id or dataset name.")
        number = asked.id()
        return {"id": number if service.delete(DatasetId(number), asked.text("name")) else None}

    return {
        "dataset": details,
        "dataset/list": listed,
        "dataset/add": add,
        "dataset/delete": delete,
        "dataset/predefined": _predefined,
    }


def _form(asked: Parameters) -> DatasetForm:
    _expect(asked, _REQUIRED)
    reader = asked.inside("dataloader")
    return DatasetForm(
        project_id=ProjectId(asked.id("project_id")),
        name=asked.text("name"),
        location=asked.text("dataset_path", ""),
        dataloader=reader.text("name"),
        parameters=reader.said.get("params"),
        filter=reader.said.get("filter"),
        transforms=asked.said["transform"] or [],
        metric=asked.text("metric", ""),
        metric_parameters=asked.said.get("metric_param"),
    )


def _expect(asked: Parameters, names: Sequence[str]) -> None:
    """Keys that are documented as required must be there; forms send null for what is empty."""
    missing = [name for name in names if name not in asked.said]
    if missing:
        raise BadValue(MISSING, why=f"there is no {missing[0]}")


def _predefined(asked: Parameters) -> dict[str, Any]:
    """Without a preset a dataset is described by hand; nothing else depends on there being one."""
    _expect(asked, _REQUIRED_OF_PRESETS)
    framework = framework_named(asked.text("framework")).name
    domain = domain_named(asked.text("domain", ""))
    flavour = find_named(FLAVOURS, asked.text("domain_flavour", ""))
    found = dictionaries().preset(framework, domain, flavour.name if flavour else "")
    if found is None:
        raise NotFound(
            f"Could not found predefined config for {framework} {domain}".strip(),
            fix="Describe the dataset by hand; the model can be run all the same",
        )
    if found.dataloader is None:
        return {"transform": {}, "dataloader": {}, "metric": {}, "metric_param": {}}
    return {
        "transform": [*found.transforms],
        "dataloader": found.dataloader,
        "metric": found.metric,
        "metric_param": found.metric_param,
    }
