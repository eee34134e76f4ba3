"""A dataset, as ``/api`` writes it wherever one stands: the union of what is documented."""

from __future__ import annotations

from typing import Any

from modeldyno.api.inc.shapes import moment
from modeldyno.core.datasets import Dataset, transform_of

CALIBRATION = 100  # samples, and how many at once: what optimizations begin with

# What stands for a dataset where there is none: its clients read on without looking.
NO_DATASET: dict[str, Any] = {
    "id": -1,
    "project_id": -1,
    "name": "",
    "dataset_type": "",
    "parameters": {},
    "transforms": {},
    "filter": None,
    "metric": {},
    "calibration_batch_size": CALIBRATION,
    "calibration_sampling_size": CALIBRATION,
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
        "transforms": _transforms(dataset),
        "filter": dataset.filter,
        "metric": dataset.metric or {},
        "calibration_batch_size": CALIBRATION,
        "calibration_sampling_size": CALIBRATION,
        "template_path": dataset.template_path,
        "created_at": moment(dataset.created_at),
    }


def dataset_row(dataset: Dataset) -> dict[str, Any]:
    """Of a list."""
    return {
        "id": dataset.id,
        "name": dataset.name,
        "dataset_type": dataset.kind,
        "created_at": moment(dataset.created_at),
    }


def _transforms(dataset: Dataset) -> Any:
    """Documented as ``{}``; where there are some, the stock client walks a list and fails on
    anything else."""
    pairs = [transform_of(one) for one in dataset.transforms]
    return [{"name": name, "params": params} for name, params in pairs] or {}
