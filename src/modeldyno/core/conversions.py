"""A conversion: the same network in another format, and how we know that it is the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from modeldyno.core.documents.described import Amount, Described, Size
from modeldyno.core.models import ModelFacts

ConversionState = Literal["converting", "done", "failed", "cancelled"]
Goal = Literal["onnx", "openvino", "litert"]
GOALS: dict[Goal, str] = {"onnx": "ONNX", "openvino": "OpenVINO IR", "litert": "LiteRT"}
SUFFIXES: dict[Goal, str] = {"onnx": ".onnx", "openvino": ".xml", "litert": ".tflite"}


@dataclass(frozen=True)
class Possibility(Described):
    """A format, and whether a model can be converted to it."""

    to: Goal
    """What a conversion is asked for by."""
    title: str
    """For people."""
    why_not: str = ""
    """Empty: it can be made."""
    fix: str = ""
    """What to do about it."""


@dataclass(frozen=True)
class Check(Described):
    """Source and result on one input."""

    batch_size: Size
    """Items of the input."""
    max_abs_error: Amount
    """The largest difference of outputs."""
    max_rel_error: Amount
    """The same, of the largest value of the same output."""


@dataclass(frozen=True)
class ConversionResult:
    source: ModelFacts
    model: ModelFacts  # including how it was made
    to: Goal
    checks: tuple[Check, ...]
    source_engine: str  # of the check, with version; as is ``engine``
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``modeldyno convert --json`` prints."""
        from modeldyno.core.documents.conversions import ConversionDocument
        from modeldyno.core.documents.described import json_text
        from modeldyno.core.exports import write_if_given_path

        return write_if_given_path(json_text(ConversionDocument.of(self)), path)
