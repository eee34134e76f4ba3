"""Bring the shorter side to a length, and keep the proportions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.boxes import move_boxes
from modeldyno.datasets.transforms.images import image_of, with_image
from modeldyno.datasets.transforms.resampling import Library, resample


@dataclass(frozen=True, kw_only=True)
class ResizeWithRatio:
    """Never smaller, unless the longer side would exceed ``max_dim``. ``padding`` puts it in the
    middle of a black square with sides of ``max_dim``."""

    min_dim: int = 800
    max_dim: int = 1365
    padding: bool = False
    is_random: ClassVar[bool] = False
    library: ClassVar[Library] = "pillow"

    def __post_init__(self) -> None:
        if not 0 < self.min_dim <= self.max_dim:
            raise BadValue(
                f"ResizeWithRatio cannot bring sides to {self.min_dim} and {self.max_dim}",
                why="the shorter side needs at least 1 pixel, and the longer is no shorter",
                fix="Give min_dim and max_dim as in 800 and 1365",
            )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        image = image_of(sample)
        rows, columns = image.shape[:2]
        scale = max(1.0, self.min_dim / min(rows, columns))
        if round(max(rows, columns) * scale) > self.max_dim:
            scale = self.max_dim / max(rows, columns)
        height, width = max(1, round(rows * scale)), max(1, round(columns * scale))
        if (height, width) != (rows, columns):
            image = resample(self.library, image, height, width, "bilinear")
        resized = with_image(sample, image)
        return _pad(resized, self.max_dim) if self.padding else resized


class TensorFlowResizeWithRatio(ResizeWithRatio):
    library: ClassVar[Library] = "tensorflow"


def _pad(sample: Sample, side: int) -> Sample:
    image = image_of(sample)
    height, width = image.shape[:2]
    top, left = (side - height) // 2, (side - width) // 2

    def move(boxes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray((boxes * (height, width, height, width) + (top, left, top, left)) / side)

    square = np.zeros((side, side, *image.shape[2:]), dtype=image.dtype)
    square[top : top + height, left : left + width] = image
    return replace(with_image(sample, square), label=move_boxes(sample.label, move))
