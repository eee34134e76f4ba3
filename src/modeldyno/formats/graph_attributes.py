"""Attributes of nodes, bounded: large ones are described, never shown in full."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from modeldyno.core.graphs import Attribute, Scalar

MOST_ATTRIBUTES = 64  # of one node; the longest list in ONNX's standard has a dozen
MOST_ITEMS = 32
FIRST_ITEMS = 8  # of a longer list
LONGEST_TEXT = 256
LONGEST_NAME = 100


def to_scalar(value: Any) -> Scalar:
    """A form that JSON can represent."""
    if isinstance(value, float):
        return to_number_scalar(value)
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**64):
        return value
    return str(value)[:LONGEST_TEXT]


def to_number_scalar(value: float) -> Scalar:
    """A form that JSON can represent, with no more digits than a 32-bit float has."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if abs(value) < 3e38:
        single = struct.unpack("f", struct.pack("f", value))[0]
        for digits in (6, 7, 8) if single == value else ():
            short = float(f"{value:.{digits}g}")
            if struct.unpack("f", struct.pack("f", short))[0] == value:
                return short
    return value


def make_text_attribute(name: str, text: str, kind: str = "string") -> Attribute:
    note = f"the beginning of {len(text)} characters" if len(text) > LONGEST_TEXT else ""
    return Attribute(name[:LONGEST_NAME], kind, text[:LONGEST_TEXT], note)


def make_list_attribute(
    name: str, kind: str, items: Sequence[Any], convert: Callable[[Any], Scalar] = to_scalar
) -> Attribute:
    is_long = len(items) > MOST_ITEMS
    note = f"the first {FIRST_ITEMS} of {len(items)}" if is_long else ""
    first = items[: FIRST_ITEMS if is_long else MOST_ITEMS]
    return Attribute(name[:LONGEST_NAME], kind, tuple(convert(item) for item in first), note)
