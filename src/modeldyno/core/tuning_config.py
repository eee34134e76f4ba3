"""What a quantization was asked to do, with the keys that users of INC's YAML files know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modeldyno.core.datasets import DatasetSpec, by_name
from modeldyno.core.specs import OptimizationSpec

DYNAMIC = "int8 dynamic quantization"  # all others have their ranges measured before


def tuning_config(spec: OptimizationSpec) -> dict[str, Any]:
    """All that the user chose is in it, and nothing that was not."""
    settings = spec.settings
    config: dict[str, Any] = {
        "version": 1.0,
        "model": _model(spec),
        "quantization": {
            "calibration": {"sampling_size": settings.sampling_size},
            "approach": f"post_training_{_when(spec)}_quant",
        },
        "tuning": {
            "strategy": {"name": settings.strategy},
            "accuracy_criterion": {settings.criterion: settings.threshold},
            "multi_objectives": {"objective": settings.objective},
            "exit_policy": {"timeout": settings.timeout_s, "max_trials": settings.max_trials},
            "random_seed": settings.seed,
        },
    }
    if spec.dataset is not None:
        loader = _dataloader(spec.dataset, settings.batch_size)
        config["quantization"]["calibration"]["dataloader"] = loader
        metric = spec.dataset.metric
        metrics = {"metric": {metric["name"]: metric["param"]}} if metric else {}
        # A copy: two references to one thing would be written as an alias.
        config["evaluation"] = {
            "accuracy": metrics | {"dataloader": _dataloader(spec.dataset, settings.batch_size)}
        }
    return config


def _when(spec: OptimizationSpec) -> str:
    return "dynamic" if spec.precision == DYNAMIC else "static"


def _model(spec: OptimizationSpec) -> dict[str, Any]:
    model: dict[str, Any] = {"name": spec.name}
    model |= {"framework": spec.framework} if spec.framework else {}
    model |= {"inputs": _names(spec.inputs)} if spec.inputs else {}
    return model | ({"outputs": _names(spec.outputs)} if spec.outputs else {})


def _names(names: Sequence[str]) -> str | list[str]:
    """One stands for itself."""
    return names[0] if len(names) == 1 else [*names]


def _dataloader(dataset: DatasetSpec, batch_size: int) -> dict[str, Any]:
    loader: dict[str, Any] = {
        "batch_size": batch_size,
        "dataset": {dataset.kind: dict(dataset.parameters)},
    }
    if dataset.transforms:
        loader["transform"] = {
            name: dict(params) for name, params in by_name(dataset.transforms).items()
        }
    return loader | ({"filter": dict(dataset.filter)} if dataset.filter else {})
