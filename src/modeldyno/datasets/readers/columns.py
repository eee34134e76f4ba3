"""Which columns or arrays of a dataset are inputs, which is the label, and values as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.core.visible import visible
from modeldyno.datasets.readers.files import damaged
from modeldyno.datasets.readers.images import decode_image

Array = np.ndarray[Any, Any]

INPUT_NAMES = ("x", "inputs", "data", "images")
LABEL_NAMES = ("y", "labels", "label", "targets")


@dataclass(frozen=True)
class Columns:
    inputs: tuple[str, ...]
    label: str | None


def choose_columns(
    available: Sequence[str], inputs: Sequence[str], label: str, name: str
) -> Columns:
    """Those named; else by usual names; else all but the label are inputs."""
    for wanted in (*inputs, *([label] if label else [])):
        if wanted not in available:
            raise _choice_error(f"{name} has no {visible(wanted)!r}", available)
    chosen = label or next((usual for usual in LABEL_NAMES if usual in available), None)
    rest = [one for one in available if one != chosen]
    usual = [one for one in INPUT_NAMES if one in rest][:1]
    columns = Columns(tuple(inputs) or tuple(usual or rest), chosen)
    if not columns.inputs:
        raise _choice_error(f"{name} has no inputs", available)
    return columns


def _choice_error(title: str, available: Sequence[str]) -> DatasetUnreadable:
    names = ", ".join(visible(one) for one in available[:50])
    return DatasetUnreadable(
        title, why=f"it has: {names or 'nothing'}", fix="Name inputs and label as they are there"
    )


def to_array(value: Any, name: str) -> Array:
    """A number, text, a list of them, or an encoded image."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        value = value["bytes"]  # as Hugging Face stores images
    if isinstance(value, bytes):
        return decode_image(value, f"the image in {name}")
    try:
        array = np.array(value)
    except ValueError as error:
        raise damaged(name, why="its lists differ in length", fix="Make all as long") from error
    if array.dtype.kind not in "biufU" or not array.size:
        raise damaged(
            name,
            why="an input is missing, or no number, text, list of them, or image",
            fix="Fill it in, or choose other inputs",
        )
    return array.astype(np.float32) if array.dtype.kind == "f" else array


class Labels:
    """Numbers as they are. Text is a class: its number in alphabetical order, from 0."""

    def __init__(self, values: Callable[[], Iterable[Any]]) -> None:
        """``values`` goes through those of all samples. They are not kept where all are numbers."""
        self._classes: dict[str, int] | None = None
        if any(_is_text(value) and not _is_number(value) for value in values()):
            texts = sorted({value for value in values() if _is_text(value)})
            self._classes = {text: number for number, text in enumerate(texts)}

    def convert(self, value: Any, name: str) -> Any:
        if _is_text(value):
            value = float(value) if self._classes is None else self._classes[value]
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, int):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return int(value) if value.is_integer() else value
        if isinstance(value, list) and value:
            return to_array(value, f"the label of {name}")
        raise damaged(name, why="its label is missing", fix="Fill it in, or remove the sample")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
