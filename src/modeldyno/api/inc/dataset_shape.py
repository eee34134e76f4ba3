"""A dataset, as ``/api`` writes it wherever one stands."""

from __future__ import annotations

from typing import Any

from modeldyno.api.inc.shapes import moment
from modeldyno.core.datasets import Dataset

# What stands for a dataset where there is none: its clients read on without looking.
NO_DATASET: dict[str, Any] = {
    "id": -1,
    "project_id": -1,
    "name": "",
    "dataset_type": "",
    "parameters": {},
    "transforms": None,
    "filter": None,
    "metric": None,
    "template_path": None,
    "created_at": "None",
}


def dataset_shape(dataset: Dataset) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "project_id": dataset.project_id,
        "name": dataset.name,
        "dataset_type": dataset.kind,
        "parameters": dataset.parameters,
        "transforms": [*dataset.transforms] or None,
        "filter": dataset.filter,
        "metric": dataset.metric,
        "template_path": dataset.template_path,
        "created_at": moment(dataset.created_at),
    }
