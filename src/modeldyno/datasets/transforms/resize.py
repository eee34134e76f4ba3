"""Bring images to a size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.images import image_of, require_height_and_width, with_image
from modeldyno.datasets.transforms.resampling import (
    Library,
    require_interpolation,
    resample,
)


@dataclass(frozen=True, kw_only=True)
class Resize:
    size: tuple[int, ...] = ()
    interpolation: str = "bilinear"
    is_random: ClassVar[bool] = False
    library: ClassVar[Library] = "pillow"

    def __post_init__(self) -> None:
        require_height_and_width("Resize", self.size)
        require_interpolation(self.interpolation)

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        size = require_height_and_width("Resize", self.size)
        return with_image(
            sample, resample(self.library, image_of(sample), *size, self.interpolation)
        )


class TensorFlowResize(Resize):
    library: ClassVar[Library] = "tensorflow"
