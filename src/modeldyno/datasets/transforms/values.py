"""Change the values of an input, and leave its shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.images import with_image

Array = np.ndarray[Any, Any]
DTYPES = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
QUANTIZED = ("uint8", "int8")
_LEAST_DEVIATION = 1e-6


@dataclass(frozen=True, kw_only=True)
class Rescale:
    """From 0–255 to 0–1."""

    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return with_image(sample, sample.inputs[0].astype(np.float32) / np.float32(255))


@dataclass(frozen=True, kw_only=True)
class Normalize:
    """Of each channel, which is the last axis; a single number stands for all."""

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_deviations("Normalize", self.std)

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        image = sample.inputs[0].astype(np.float32)
        mean = of_channels("mean of Normalize", self.mean, image)
        return with_image(sample, (image - mean) / of_channels("std of Normalize", self.std, image))


def require_deviations(transform: str, deviations: tuple[float, ...]) -> None:
    if min(deviations, default=0.0) < _LEAST_DEVIATION:
        raise BadValue(
            f"{transform} cannot divide by {list(deviations)}",
            why=f"a deviation is at least {_LEAST_DEVIATION}",
            fix="Give one for each channel, as in 0.229, 0.224, 0.225, or one for all: 1.0",
        )


def of_channels(what: str, values: tuple[float, ...], image: Array) -> Array:
    """Raises BadValue unless there is a value for each channel, or one for all."""
    if len(values) not in (1, image.shape[-1] if image.ndim else 1):
        raise BadValue(
            f"{what} has {len(values)} values, but the last axis of {list(image.shape)} has "
            f"{image.shape[-1]}",
            why="each channel needs its own value, and channels are the last axis",
            fix="Give one value for each channel, or one for all, and put Transpose after it",
        )
    return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Of all inputs. What a type cannot hold becomes the nearest value that it can."""

    dtype: str = "float32"
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise BadValue(
                f"Cast cannot convert to {self.dtype[:100]!r}",
                fix=f"Choose one of: {', '.join(DTYPES)}",
            )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return replace(sample, inputs=tuple(convert(array, self.dtype) for array in sample.inputs))


def convert(array: Array, dtype: str) -> Array:
    to = np.dtype(dtype)
    if to.kind in "iu" and array.dtype.kind in "iuf":
        limits = np.iinfo(to)
        with np.errstate(invalid="ignore"):  # of what is not a number
            return np.clip(array, limits.min, limits.max).astype(to)
    return array.astype(to)


@dataclass(frozen=True, kw_only=True)
class QuantizedInput:
    """Does nothing without a scale, which is only known once the model is quantized."""

    dtype: str = ""
    scale: float | None = None
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.dtype not in QUANTIZED and (self.dtype or self.scale is not None):
            raise BadValue(
                f"QuantizedInput cannot convert to {self.dtype[:100]!r}",
                why="quantized inputs are integers of 8 bits",
                fix=f"Choose one of: {', '.join(QUANTIZED)}",
            )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        if self.scale is None:
            return sample
        image = sample.inputs[0].astype(np.float32) * np.float32(self.scale)
        zero_point = 128 if self.dtype == "uint8" else 0
        return with_image(sample, convert(image + np.float32(zero_point), self.dtype))
