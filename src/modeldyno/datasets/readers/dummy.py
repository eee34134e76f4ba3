"""Random values, for a first run without data. The same sample number has the same values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import LARGEST_SAMPLE
from modeldyno.datasets.readers.samples import LazySamples

Array = np.ndarray[Any, Any]
Range = float | tuple[float, ...]
Types = str | tuple[str, ...]
Shapes = tuple[int | tuple[int, ...], ...]  # one, or several

SEED = 9527
ENDLESS = 1000  # samples of a dataset that would never end
_TYPES = ("float32", "float16", "uint8", "int8", "int32", "int64", "bool")


@dataclass(frozen=True)
class _Values:
    """Of one input or label."""

    shape: tuple[int, ...]
    low: float
    high: float
    dtype: str

    def draw(self, random: np.random.Generator) -> Array:
        if self.dtype == "bool":
            return random.random(self.shape) < 0.5
        return random.uniform(self.low, self.high, self.shape).astype(self.dtype)


@dataclass(frozen=True, kw_only=True)
class Dummy:
    """``shape`` begins with the number of samples; several inputs have a shape each."""

    shape: Shapes = ()
    low: Range = -128.0
    high: Range = 127.0
    dtype: Types = "float32"
    label: bool = True  # every sample has the label 0

    def open(self) -> LazySamples:
        shapes = _as_shapes(self.shape)
        if not shapes or not all(shapes) or len({shape[0] for shape in shapes}) > 1:
            raise BadValue(
                "shape of dummy must begin with the number of samples, the same for all inputs",
                why=f"it is {self.shape}",
                fix="Write [100, 3, 224, 224] for 100 samples of 3 × 224 × 224",
            )
        inner = [shape[1:] for shape in shapes]
        inputs = _make_values(inner, len(inner), self.low, self.high, self.dtype)

        def read(number: int) -> Sample:
            random = np.random.default_rng((SEED, number))
            arrays = tuple(values.draw(random) for values in inputs)
            return Sample(arrays, 0 if self.label else None)

        return LazySamples(range(shapes[0][0]), read)


@dataclass(frozen=True, kw_only=True)
class DummyV2:
    """Shapes are of one sample. ``low``, ``high`` and ``dtype`` are one for all, or one for each
    input and then each label."""

    input_shape: Shapes = ()
    label_shape: Shapes = ()
    low: Range = -128.0
    high: Range = 127.0
    dtype: Types = "float32"

    def open(self) -> LazySamples:
        inputs, labels = _as_shapes(self.input_shape), _as_shapes(self.label_shape)
        if not inputs:
            raise BadValue(
                "input_shape of dummy_v2 is empty",
                fix="Set it to the shape of one sample, without the batch: [3, 224, 224]",
            )
        values = _make_values(inputs + labels, len(inputs), self.low, self.high, self.dtype)

        def read(number: int) -> Sample:
            random = np.random.default_rng((SEED, number))
            arrays = tuple(one.draw(random) for one in values)
            label = arrays[len(inputs) :]
            return Sample(arrays[: len(inputs)], label[0] if len(label) == 1 else label or None)

        return LazySamples(range(ENDLESS), read)


def _as_shapes(shape: Shapes) -> list[tuple[int, ...]]:
    several = bool(shape) and all(isinstance(part, Sequence) for part in shape)
    shapes: Any = shape if several else [shape] if shape else []
    for one in shapes:
        for size in one:
            if not isinstance(size, int) or size < 1:
                raise BadValue(
                    "A shape must be whole numbers above 0",
                    why=f"there is {size!r} in {shape}",
                    fix="Write [3, 224, 224], or [[3, 224, 224], [10]] for two",
                )
    return [tuple(one) for one in shapes]


def _make_values(
    shapes: list[tuple[int, ...]], inputs: int, low: Range, high: Range, dtype: Types
) -> list[_Values]:
    """A list for inputs alone leaves labels the value of the last input."""

    def spread(name: str, value: Any) -> list[Any]:
        if isinstance(value, str) and "," in value:
            value = [part.strip() for part in value.split(",")]
        if isinstance(value, str | int | float):
            return [value] * len(shapes)
        if len(value) == 1:
            return [*value] * len(shapes)
        if len(value) not in (inputs, len(shapes)):
            raise BadValue(
                f"{name} has {len(value)} values for {len(shapes)} inputs and labels",
                fix=f"Give one value for all, or {len(shapes)}",
            )
        return [*value, *[value[-1]] * (len(shapes) - len(value))]

    columns = spread("low", low), spread("high", high), spread("dtype", dtype)
    values = [_Values(shape, *rest) for shape, *rest in zip(shapes, *columns, strict=True)]
    for one in values:
        _require_drawable(one)
    return values


def _require_drawable(values: _Values) -> None:
    low, high, dtype = values.low, values.high, values.dtype
    if dtype not in _TYPES:
        raise BadValue(f"dtype cannot be {dtype!r}", fix=f"Choose one of: {', '.join(_TYPES)}")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BadValue(f"low must be below high, not {low:g} and {high:g}", fix="Exchange them")
    if dtype != "bool":
        limits: Any = np.iinfo(dtype) if dtype.startswith(("int", "uint")) else np.finfo(dtype)
        if low < limits.min or high - 1 > limits.max:
            raise BadValue(
                f"{low:g} to {high:g} does not fit into {dtype}",
                why=f"that holds {limits.min} to {limits.max}",
                fix="Change low and high, or dtype",
            )
    if math.prod(values.shape) * np.dtype(dtype).itemsize > LARGEST_SAMPLE:
        raise BadValue(
            f"A sample of {list(values.shape)} is too large",
            why=f"it has more than {LARGEST_SAMPLE >> 20} MiB",
            fix="Choose a smaller shape",
        )
