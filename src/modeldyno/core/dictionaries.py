"""What INC Bench numbers and lists: its clients know these by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from modeldyno.core.errors import BadValue
from modeldyno.core.models import FORMATS, ModelFormat


@dataclass(frozen=True)
class Numbered:
    id: int
    name: str

    @property
    def as_json(self) -> dict[str, int | str]:
        return {"id": self.id, "name": self.name}


NONE = Numbered(0, "")  # of a model without a domain; not in any list

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


def framework_of(format: ModelFormat | None, name: str = "") -> Numbered:
    """The framework of a file format, else the one of that name."""
    entry = FORMATS.get(format) if format else None  # examples have formats that we do not read
    name = (entry and entry.framework) or name
    return find_named(FRAMEWORKS, name) or Numbered(0, name)


def find_named(among: Sequence[Numbered], name: str) -> Numbered | None:
    """Ignores case and surrounding blanks."""
    key = name.strip().lower()
    return next((entry for entry in among if entry.name.lower() == key), None)


def require_named(among: Sequence[Numbered], name: str, noun: str) -> Numbered:
    """Raises BadValue if no entry has that name."""
    match = find_named(among, name)
    if match is None:
        raise BadValue(
            f"There is no {noun} {name[:100]!r}",
            fix="Choose one of: " + ", ".join(entry.name for entry in among if entry.name),
        )
    return match


def require_numbered(among: Sequence[Numbered], id: int, noun: str) -> Numbered:
    """Raises BadValue if no entry has that number."""
    match = next((entry for entry in among if entry.id == id), None)
    if match is None:
        raise BadValue(
            f"There is no {noun} {id}",
            fix="Choose one of: " + ", ".join(f"{entry.id} ({entry.name})" for entry in among),
        )
    return match


# choice: a whole number, or the list of possible ones; "": it has parts
Type = Literal["text", "whole", "number", "wholes", "numbers", "shapes", "truth", "choice", ""]


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Type
    help: str
    value: Any  # initial, in a form
    label: str | None = None
    params: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class DictionaryEntry:
    """An entry of a dictionary; clients know its number."""

    id: int
    name: str
    framework: str
    help: str
    params: tuple[Parameter, ...]
    domains: tuple[str, ...] | None = None  # of a transform; empty: any
    show_dataset_location: bool | None = None  # of a reader: whether it takes a location


@dataclass(frozen=True)
class Preset:
    """Initial values for models of a domain; without a reader there are none."""

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
    values: dict[str, dict[str, str]]  # of strategies and the like: names and their meanings
    types: dict[DictionaryName, dict[str, Type]]  # of parameters, by name or by ``transform.name``

    def type_of(self, group: DictionaryName, owner: str, name: str) -> Type | None:
        """None if there is no such parameter."""
        types = self.types[group]
        return types.get(f"{owner}.{name}") or types.get(name)

    def preset(self, framework: str, domain: str, flavour: str) -> Preset | None:
        """A flavour without a preset of its own has that of its domain."""
        presets = {
            preset.flavour: preset
            for preset in self.presets
            if (preset.framework, preset.domain) == (framework, domain)
        }
        return presets.get(flavour) or presets.get("")


def of_framework(entries: Iterable[DictionaryEntry], framework: str) -> tuple[DictionaryEntry, ...]:
    return tuple(entry for entry in entries if entry.framework == framework)


def of_domain(entries: Iterable[DictionaryEntry], domain: str) -> tuple[DictionaryEntry, ...]:
    """Including those that fit any domain."""
    return tuple(entry for entry in entries if not entry.domains or domain in entry.domains)


def names(entries: Iterable[DictionaryEntry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.name for entry in entries))
