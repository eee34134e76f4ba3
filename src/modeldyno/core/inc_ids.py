"""What INC Bench numbers: its clients know these by their ids. One place for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    return find(FRAMEWORKS, called) or Numbered(0, called)


def find(among: Sequence[Numbered], name: str) -> Numbered | None:
    """By its name, large or small letters alike."""
    wanted = name.strip().lower()
    return next((one for one in among if one.name.lower() == wanted), None)


def known(among: Sequence[Numbered], name: str, what: str) -> Numbered:
    """Raises BadValue when there is none of that name."""
    match = find(among, name)
    if match is None:
        raise BadValue(
            f"There is no {what} {name[:100]!r}",
            fix="Choose one of: " + ", ".join(one.name for one in among if one.name),
        )
    return match


def numbered(among: Sequence[Numbered], id: int, what: str) -> Numbered:
    """Raises BadValue when there is none of that number."""
    match = next((one for one in among if one.id == id), None)
    if match is None:
        raise BadValue(
            f"There is no {what} {id}",
            fix="Choose one of: " + ", ".join(f"{one.id} ({one.name})" for one in among),
        )
    return match
