"""The values of an input: those it needs, or those that its name and type suggest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from modeldyno.core.errors import BadValue
from modeldyno.core.models import InputSpec
from modeldyno.core.sessions import DecoderCall
from modeldyno.inputs import name_hints

Fill = Literal["normal", "integers", "booleans", "constant", "positions"]
VARIANTS = 4  # ways to fill an unknown input
_SAMPLE_RATES = (16000, 8000)
_IMAGE_SIDE = 224
_TOKENS = 100  # token-like: small enough for nearly every vocabulary


@dataclass(frozen=True)
class Values:
    fill: Fill
    low: int = 0  # of integers, half-open; positions count on from it
    high: int = 2
    value: float | int | bool = 0  # of constant
    guess: str = ""  # the assumption, if the user should know of it
    is_certain: bool = True  # if not, other variants are worth a try


def choose_values(spec: InputSpec, shape: tuple[int, ...], length: int, variant: int = 0) -> Values:
    """``length`` is the size of the sequence, for inputs such as ``lengths``."""
    if name_hints.says_mask(spec.name):
        return Values("constant", value=0 if name_hints.says_padding(spec.name) else 1)
    if spec.dtype == "bool":
        return _boolean_values(variant)
    if spec.indices is None and not spec.dtype.endswith("int8"):
        if name_hints.says_sample_rate(spec.name) and len(shape) < 2:
            return _guessed_value(_SAMPLE_RATES[variant % 2])
        if name_hints.says_image_size(spec.name) and len(shape) < 3:
            return _guessed_value(_IMAGE_SIDE if variant == 0 else 1)
    if spec.dtype.startswith("float"):
        return _float_values(spec, shape)
    return _integer_values(spec, shape, length, variant)


def values_in_decoder(spec: InputSpec, shape: tuple[int, ...], call: DecoderCall) -> Values | None:
    """Of what a decoder with a cache has to know about its past; None for its other inputs."""
    if spec.dtype == "bool" and name_hints.says_past(spec.name):
        return Values("constant", value=call.past > 0)  # whether to use the cache
    if not spec.dtype.startswith(("int", "uint")) or name_hints.says_mask(spec.name):
        return None
    total = call.past + call.tokens
    if name_hints.says_position(spec.name) and shape and shape[-1] == call.tokens:
        return Values("positions", call.past, total)
    if len(shape) < 2 and name_hints.says_total(spec.name):
        return Values("constant", value=total)
    if len(shape) < 2 and name_hints.says_past(spec.name):
        return Values("constant", value=call.past)
    return None


def _guessed_value(value: int) -> Values:
    return Values("constant", value=value, guess=str(value), is_certain=False)


def _boolean_values(variant: int) -> Values:
    if variant % 3 == 0:
        return Values("booleans", is_certain=False)
    value = variant % 3 == 1
    return Values("constant", value=value, guess=str(value).lower(), is_certain=False)


def _float_values(spec: InputSpec, shape: tuple[int, ...]) -> Values:
    """Relative lengths and factors are small vectors; nearly everything else is normalised."""
    small = name_hints.says_length(spec.name) and len(shape) < 2
    if small or (name_hints.says_factor(spec.name) and len(shape) < 3):
        return Values("constant", value=1, guess="1")
    return Values("normal")


def _integer_values(spec: InputSpec, shape: tuple[int, ...], length: int, variant: int) -> Values:
    lowest, highest = _dtype_limits(spec.dtype)
    if spec.indices is not None:
        return Values("integers", spec.indices.low, min(spec.indices.high, highest + 1))
    if name_hints.says_segment(spec.name):
        return Values("constant", value=0)
    if name_hints.says_position(spec.name) and shape:
        return Values("integers", 0, max(1, min(shape[-1], highest + 1)))
    if name_hints.says_length(spec.name) and len(shape) < 2:
        return _guessed_value(min(length if variant == 0 else 1, highest))
    if spec.dtype.endswith("int8") and len(shape) > 2:
        return Values("integers", lowest, highest + 1)  # an image
    return _values_of_unknown_integers(
        255 if name_hints.says_bytes(spec.name) else _TOKENS - 1, highest, variant
    )


def _values_of_unknown_integers(largest: int, highest: int, variant: int) -> Values:
    """Token-like numbers; then numbers that fit even a small table or a counter."""
    largest = min(largest, highest)
    if variant < 2:
        top = (largest, 1)[variant]
        return Values("integers", 0, top + 1, guess=f"random integers 0 to {top}", is_certain=False)
    return _guessed_value((1, 0)[variant % 2])


def _dtype_limits(dtype: str) -> tuple[int, int]:
    bits = int(dtype.lstrip("uint"))
    if dtype.startswith("u"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def require_value(spec: InputSpec, value: float) -> None:
    """Raises BadValue if an input of this type cannot hold the value."""
    if spec.dtype.startswith("float"):
        fits, why = math.isfinite(value), "it must be a finite number"
    elif spec.dtype == "bool":
        fits, why = value in (0, 1), "it is a boolean: 0 or 1"
    else:
        lowest, highest = _dtype_limits(spec.dtype)
        fits = math.isfinite(value) and value == int(value) and lowest <= value <= highest
        why = f"it is an integer from {lowest} to {highest}"
    if not fits:
        raise BadValue(f"The input {spec.name!r} cannot be {value:g}", why=why)
