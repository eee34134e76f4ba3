"""What INC Bench numbers and lists: its clients know these by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from modeldyno.core.errors import BadValue
from modeldyno.core.models import ModelFormat


@dataclass(frozen=True)
class Numbered:
    id: int
    name: str

    @property
    def told(self) -> dict[str, int | str]:
        return {"id": self.id, "name": self.name}


NONE = Numbered(0, "")  # of a model without a domain; in no list

TENSORFLOW, ONNXRT, PYTORCH, OPENVINO = FRAMEWORKS = (
    Numbered(1, "TensorFlow"),
    Numbered(2, "ONNXRT"),
    Numbered(3, "PyTorch"),
    Numbered(4, "OpenVINO"),
)
IMAGE_RECOGNITION, OBJECT_DETECTION, LANGUAGE_PROCESSING, RECOMMENDATION = DOMAINS = (
    Numbered(1, "Image Recognition"),
    Numbered(2, "Object Detection"),
    Numbered(3, "Neural Language Processing"),
    Numbered(4, "Recommendation"),
)
NO_FLAVOUR, SSD, YOLO = FLAVOURS = (Numbered(1, ""), Numbered(2, "SSD"), Numbered(3, "Yolo"))
FP32, BF16, INT8, INT8_STATIC, INT8_DYNAMIC, FP16 = PRECISIONS = (
    Numbered(1, "fp32"),
    Numbered(2, "bf16"),
    Numbered(3, "int8"),
    Numbered(4, "int8 static quantization"),
    Numbered(5, "int8 dynamic quantization"),
    Numbered(6, "fp16"),
)
QUANTIZATION, GRAPH_OPTIMIZATION, MIXED_PRECISION = OPTIMIZATION_TYPES = (
    Numbered(1, "Quantization"),
    Numbered(2, "Graph optimization"),
    Numbered(3, "Mixed precision"),
)

_OF_FORMAT: dict[ModelFormat, Numbered] = {
    "onnx": ONNXRT,
    "torchscript": PYTORCH,
    "torch-export": PYTORCH,
    "torch-checkpoint": PYTORCH,
    "openvino-ir": OPENVINO,
    "tf-graph": TENSORFLOW,
    "saved-model": TENSORFLOW,
    "keras": TENSORFLOW,
}


def framework_of(format: ModelFormat | None, called: str = "") -> Numbered:
    """Who runs files of this format; ``called`` is what else is known of it."""
    if format in _OF_FORMAT:
        return _OF_FORMAT[format]
    return find_named(FRAMEWORKS, called) or Numbered(0, called)


def find_named(among: Sequence[Numbered], name: str) -> Numbered | None:
    """By its name, large or small letters alike."""
    wanted = name.strip().lower()
    return next((one for one in among if one.name.lower() == wanted), None)


def require_named(among: Sequence[Numbered], name: str, what: str) -> Numbered:
    """Raises BadValue when there is none of that name."""
    match = find_named(among, name)
    if match is None:
        raise BadValue(
            f"There is no {what} {name[:100]!r}",
            fix="Choose one of: " + ", ".join(one.name for one in among if one.name),
        )
    return match


def require_numbered(among: Sequence[Numbered], id: int, what: str) -> Numbered:
    """Raises BadValue when there is none of that number."""
    match = next((one for one in among if one.id == id), None)
    if match is None:
        raise BadValue(
            f"There is no {what} {id}",
            fix="Choose one of: " + ", ".join(f"{one.id} ({one.name})" for one in among),
        )
    return match


# choice: a whole number, or the list of those that one may choose from; "": it has parts
Type = Literal["text", "whole", "number", "wholes", "numbers", "shapes", "truth", "choice", ""]


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Type
    help: str
    value: Any  # what a form begins with
    label: str | None = None
    params: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class DictionaryEntry:
    """One line of a dictionary; its number is known to clients."""

    id: int
    name: str
    framework: str
    help: str
    params: tuple[Parameter, ...]
    domains: tuple[str, ...] | None = None  # of a transform; empty: it fits all
    show_dataset_location: bool | None = None  # of a reader: whether it wants to know where


@dataclass(frozen=True)
class Preset:
    """What to begin with for models of a domain; without a reader there is nothing to fill in."""

    framework: str
    domain: str
    flavour: str
    dataloader: dict[str, Any] | None
    transforms: tuple[dict[str, Any], ...]
    metric: str
    metric_param: Any


DictionaryName = Literal["dataloader", "transform", "metric"]


@dataclass(frozen=True)
class Dictionaries:
    dataloaders: tuple[DictionaryEntry, ...]
    transforms: tuple[DictionaryEntry, ...]
    metrics: tuple[DictionaryEntry, ...]
    presets: tuple[Preset, ...]
    values: dict[str, dict[str, str]]  # strategies and the like: names, and what they mean
    types: dict[DictionaryName, dict[str, Type]]  # of parameters, by name or by ``transform.name``

    def type_of(self, group: DictionaryName, owner: str, name: str) -> Type | None:
        """None: there is no such parameter."""
        types = self.types[group]
        return types.get(f"{owner}.{name}") or types.get(name)

    def preset(self, framework: str, domain: str, flavour: str) -> Preset | None:
        """A flavour that has none of its own gets that of its domain."""
        presets = {
            preset.flavour: preset
            for preset in self.presets
            if (preset.framework, preset.domain) == (framework, domain)
        }
        return presets.get(flavour) or presets.get("")


def of_framework(entries: Iterable[DictionaryEntry], framework: str) -> tuple[DictionaryEntry, ...]:
    return tuple(entry for entry in entries if entry.framework == framework)


def of_domain(entries: Iterable[DictionaryEntry], domain: str) -> tuple[DictionaryEntry, ...]:
    """Those that fit it, and those that fit all."""
    return tuple(entry for entry in entries if not entry.domains or domain in entry.domains)


def names(entries: Iterable[DictionaryEntry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.name for entry in entries))
