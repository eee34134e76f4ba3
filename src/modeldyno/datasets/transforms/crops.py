"""Keep a part of an image. Boxes in labels move with it."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.images import (
    crop,
    image_of,
    require_height_and_width,
    with_image,
)
from modeldyno.datasets.transforms.resampling import (
    Library,
    require_interpolation,
    resample,
)

_TRIES = 10  # to find a part of a random shape that fits


@dataclass(frozen=True, kw_only=True)
class CenterCrop:
    size: tuple[int, ...] = ()
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_height_and_width("CenterCrop", self.size)

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        height, width = require_height_and_width("CenterCrop", self.size)
        rows, columns = image_of(sample).shape[:2]
        return crop(sample, (rows - height) // 2, (columns - width) // 2, height, width)


@dataclass(frozen=True, kw_only=True)
class RandomCrop:
    size: tuple[int, ...] = ()
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_height_and_width("RandomCrop", self.size)

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        height, width = require_height_and_width("RandomCrop", self.size)
        return crop_somewhere(sample, height, width, random)


def crop_somewhere(sample: Sample, height: int, width: int, random: np.random.Generator) -> Sample:
    """Every place is as likely as any other."""
    rows, columns = image_of(sample).shape[:2]
    top, left = (
        int(random.integers(max(0, spare) + 1)) for spare in (rows - height, columns - width)
    )
    return crop(sample, top, left, height, width)


@dataclass(frozen=True, kw_only=True)
class CropToBoundingBox:
    offset_height: int = 0
    offset_width: int = 0
    target_height: int = 0
    target_width: int = 0
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_height_and_width("CropToBoundingBox", (self.target_height, self.target_width))

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        offset = self.offset_height, self.offset_width
        return crop(sample, *offset, self.target_height, self.target_width)


@dataclass(frozen=True, kw_only=True)
class CropResize:
    x: int
    y: int
    width: int
    height: int
    size: tuple[int, ...]
    interpolation: str = "bilinear"
    is_random: ClassVar[bool] = False
    library: ClassVar[Library] = "pillow"

    def __post_init__(self) -> None:
        require_height_and_width("CropResize", self.size)
        require_height_and_width("CropResize", (self.height, self.width))
        require_interpolation(self.interpolation)

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        part = crop(sample, self.y, self.x, self.height, self.width)
        size = require_height_and_width("CropResize", self.size)
        return with_image(part, resample(self.library, image_of(part), *size, self.interpolation))


class TensorFlowCropResize(CropResize):
    library: ClassVar[Library] = "tensorflow"


@dataclass(frozen=True, kw_only=True)
class RandomResizedCrop:
    """``scale`` is of the area, ``ratio`` of width to height."""

    size: tuple[int, ...] = ()
    scale: tuple[float, ...] = (0.08, 1.0)
    ratio: tuple[float, ...] = (3 / 4, 4 / 3)
    interpolation: str = "bilinear"
    is_random: ClassVar[bool] = True
    library: ClassVar[Library] = "pillow"

    def __post_init__(self) -> None:
        require_height_and_width("RandomResizedCrop", self.size)
        require_interpolation(self.interpolation)
        for name, limits in (("scale", self.scale), ("ratio", self.ratio)):
            if len(limits) != 2 or not 0 < limits[0] <= limits[1]:
                raise BadValue(
                    f"{name} of RandomResizedCrop cannot be {list(limits)}",
                    why="it needs a smallest and a largest value above zero, in this order",
                    fix="Give scale as in 0.08, 1.0 and ratio as in 3 / 4, 4 / 3",
                )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        rows, columns = image_of(sample).shape[:2]
        part = crop(sample, *self._part(rows, columns, random))
        size = require_height_and_width("RandomResizedCrop", self.size)
        return with_image(part, resample(self.library, image_of(part), *size, self.interpolation))

    def _part(
        self, rows: int, columns: int, random: np.random.Generator
    ) -> tuple[int, int, int, int]:
        """Where none fits, the largest in the middle whose shape is allowed."""
        least, most = self.ratio
        for _ in range(_TRIES):
            area = random.uniform(self.scale[0], self.scale[1]) * rows * columns
            ratio = exp(random.uniform(log(least), log(most)))
            height, width = round(sqrt(area / ratio)), round(sqrt(area * ratio))
            if 0 < height <= rows and 0 < width <= columns:
                top, left = random.integers((rows - height + 1, columns - width + 1)).tolist()
                return top, left, height, width
        height, width = min(rows, round(columns / least)), min(columns, round(rows * most))
        return (rows - height) // 2, (columns - width) // 2, height, width


class TensorFlowRandomResizedCrop(RandomResizedCrop):
    library: ClassVar[Library] = "tensorflow"
