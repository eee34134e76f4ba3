"""A model, as ``/api`` writes it wherever one stands."""

from __future__ import annotations

from typing import Any

from modeldyno.api.inc.shapes import moment
from modeldyno.core.dictionaries import (
    DOMAINS,
    FLAVOURS,
    FP32,
    NO_FLAVOUR,
    NONE,
    PRECISIONS,
    Numbered,
    find_named,
    framework_of,
)
from modeldyno.core.models import Boundary, Model, ModelFormat, precision_of

_OF_TENSORFLOW: tuple[ModelFormat, ...] = ("tf-graph", "saved-model", "keras")
_WITH_GRAPH: tuple[ModelFormat, ...] = (
    "onnx",
    "torch-export",
    "openvino-ir",
    "litert",
    *_OF_TENSORFLOW,
)
_WITH_PROFILE: tuple[ModelFormat, ...] = (
    "onnx",
    "torchscript",
    "torch-export",
    "torch-checkpoint",
    "scripted",
    "openvino-ir",
    *_OF_TENSORFLOW,
    "litert",
)

# What a project without a model has there: its clients read on without looking.
NO_MODEL: dict[str, Any] = {
    "id": 0,
    "name": "",
    "path": "",
    "framework": NONE.told,
    "size": 0.0,
    "precision": FP32.told,
    "domain": NONE.told,
    "domain_flavour": NO_FLAVOUR.told,
    "input_nodes": [],
    "output_nodes": [],
    "supports_profiling": False,
    "supports_graph": False,
    "created_at": "None",
}


def model_shape(model: Model) -> dict[str, Any]:
    boundary = model.boundary or Boundary()
    inputs, outputs = _ends(model, boundary)
    return {
        "id": model.id,
        "name": model.name,
        "path": path_of(model),
        "framework": framework_of(model.format, model.framework).told,
        "size": megabytes(model.size_bytes or 0),
        "precision": precision(model).told,
        "domain": (find_named(DOMAINS, model.domain) or NONE).told,
        "domain_flavour": (find_named(FLAVOURS, boundary.domain_flavour) or NO_FLAVOUR).told,
        "input_nodes": inputs,
        "output_nodes": outputs,
        "supports_profiling": model.format in _WITH_PROFILE,
        "supports_graph": model.format in _WITH_GRAPH,
        "created_at": moment(model.created_at),
    }


def _ends(model: Model, boundary: Boundary) -> tuple[list[str], list[str]]:
    """As somebody said, or as the model has them."""
    inputs = [one.name for one in model.facts.inputs] if model.facts else []
    outputs = [one.name for one in model.facts.outputs] if model.facts else []
    return [*boundary.inputs] or inputs, [*boundary.outputs] or outputs


def path_of(model: Model) -> str:
    """The path that the client gave, or else where the workspace keeps it."""
    return model.source if model.origin == "path" and model.source else model.path


def precision(model: Model) -> Numbered:
    """As somebody said, or as its weights are."""
    found = model.precision or (precision_of(model.facts) if model.facts else "")
    return find_named(PRECISIONS, found) or FP32


def megabytes(size_bytes: int) -> float:
    return round(size_bytes / 1e6, 3)
