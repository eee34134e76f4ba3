"""A conversion: the same network in another format, and how we know that it is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from modeldyno.core.models import ModelFacts

Goal = Literal["onnx", "openvino", "litert"]
GOALS: dict[Goal, str] = {"onnx": "ONNX", "openvino": "OpenVINO IR", "litert": "LiteRT"}
SUFFIXES: dict[Goal, str] = {"onnx": ".onnx", "openvino": ".xml", "litert": ".tflite"}


@dataclass(frozen=True)
class Check:
    """Source and result on one input."""

    batch_size: int
    max_abs_error: float
    max_rel_error: float  # of the largest magnitude in the same output


@dataclass(frozen=True)
class ConversionResult:
    source: ModelFacts
    model: ModelFacts  # where it lies, and with what it was made
    to: Goal
    checks: tuple[Check, ...]
    source_engine: str  # with its version, as the other one: what the check ran them in
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The document that ``modeldyno convert --json`` prints."""
        from modeldyno.core.public import conversion_json

        return conversion_json(self)
