"""Which conversions exist, and which are possible here. Imports a tool only in ``load``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.conversions import GOALS, Goal, Possibility
from modeldyno.core.errors import BadValue, PackageMissing
from modeldyno.core.models import InputSpec, ModelFormat, TensorSpec, format_title
from modeldyno.core.sessions import Target
from modeldyno.engines.environments import installed_version
from modeldyno.inputs.plans import InputPlan


@dataclass(frozen=True)
class ConversionSource:
    """The model to convert: as an engine would load it, with an example of its inputs."""

    target: Target
    inputs: tuple[InputSpec, ...]  # as declared: dynamic sizes stay dynamic
    outputs: tuple[TensorSpec, ...]
    example: InputPlan


Convert = Callable[[ConversionSource, Path], tuple[str, ...]]  # writes the file, returns notes


@dataclass(frozen=True)
class Route:
    """From some formats to a goal: the tool, and the packages it needs."""

    formats: tuple[ModelFormat, ...]
    to: Goal
    makes: ModelFormat
    names: tuple[str, ...]  # of the files it writes, the model itself first
    tool: str
    factory: str  # "package.module:function"
    packages: dict[str, str]  # distributions it needs → how to install them

    def versions(self) -> dict[str, str]:
        versions = {package: _installed_version(package) for package in self.packages}
        return {package: version for package, version in versions.items() if version is not None}


# Distributions that provide the same package.
_BUILDS = {"tensorflow": ("tensorflow-cpu", "tf-nightly-cpu", "tf-nightly")}
_TORCH = "pip install 'modeldyno[torch]'"
_TENSORFLOW = "pip install 'modeldyno[tensorflow]'"
_OPENVINO = "pip install 'modeldyno[openvino]'"
_CONVERT = "pip install 'modeldyno[convert]'"

ROUTES = (
    Route(
        formats=("torch-export", "torch-checkpoint", "torchscript"),
        to="onnx",
        makes="onnx",
        names=("model.onnx",),
        tool="torch.onnx",
        factory="modeldyno.engines.torch_to_onnx:convert",
        packages={"torch": _TORCH, "onnx": "pip install onnx", "onnxscript": _CONVERT},
    ),
    Route(
        formats=("onnx",),
        to="openvino",
        makes="openvino-ir",
        names=("model.xml", "model.bin"),
        tool="openvino.convert_model",
        factory="modeldyno.engines.openvino:convert",
        packages={"openvino": _OPENVINO},
    ),
    Route(
        formats=("saved-model", "keras", "tf-graph"),
        to="onnx",
        makes="onnx",
        names=("model.onnx",),
        tool="tf2onnx",
        factory="modeldyno.engines.tf_conversions:to_onnx",
        packages={"tensorflow": _TENSORFLOW, "tf2onnx": _CONVERT},
    ),
    Route(
        formats=("saved-model", "keras", "tf-graph"),
        to="litert",
        makes="litert",
        names=("model.tflite",),
        tool="tf.lite.TFLiteConverter",
        factory="modeldyno.engines.tf_conversions:to_litert",
        packages={"tensorflow": _TENSORFLOW},
    ),
)


def possibilities(model_format: ModelFormat) -> tuple[Possibility, ...]:
    """Every goal, whether possible or not, for a menu."""
    return tuple(_make_possibility(model_format, to) for to in GOALS)


def find_route(model_format: ModelFormat, to: Goal) -> Route:
    """Raises BadValue if no route exists, PackageMissing if it needs a package missing here."""
    possibility = _make_possibility(model_format, to)
    routes = _find_routes(model_format, to)
    if not possibility.why_not:
        return routes[0]
    title = f"This model cannot be converted to {possibility.title}"
    problem = PackageMissing if routes else BadValue
    raise problem(title, why=possibility.why_not, fix=possibility.fix)


def load(route: Route) -> Convert:
    """Import the converting function; only a worker does this."""
    module, _, name = route.factory.partition(":")
    convert: Convert = getattr(importlib.import_module(module), name)
    return convert


def _make_possibility(model_format: ModelFormat, to: Goal) -> Possibility:
    title = GOALS[to]
    routes = _find_routes(model_format, to)
    if not routes:
        sources = [name for route in ROUTES if route.to == to for name in route.formats]
        if any(route.makes == model_format for route in ROUTES if route.to == to):
            return Possibility(to, title, f"it is {title} already", "Choose another format")
        known = ", ".join(map(format_title, sources))
        why = f"{title} can be made from {known}; this model is {format_title(model_format)}"
        return Possibility(to, title, why, _suggest_two_steps(model_format, sources))
    for package, install in routes[0].packages.items():
        if _installed_version(package) is None:
            why = f"the Python package {package!r} is not installed"
            return Possibility(to, title, why, f"Run `{install}`")
    return Possibility(to, title)


def _suggest_two_steps(model_format: ModelFormat, sources: Sequence[str]) -> str:
    for route in ROUTES:
        if model_format in route.formats and route.makes in sources:
            return f"Convert it to {GOALS[route.to]} first, then convert the new model"
    return "Choose another format"


def _find_routes(model_format: ModelFormat, to: Goal) -> list[Route]:
    return [route for route in ROUTES if route.to == to and model_format in route.formats]


def _installed_version(package: str) -> str | None:
    return installed_version((package, *_BUILDS.get(package, ())))
