"""Pairs of images: one whose content is kept, one whose style is taken."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import Folder, open_folder
from modeldyno.datasets.readers.images import read_image
from modeldyno.datasets.readers.packages import require_package
from modeldyno.datasets.readers.samples import LazySamples, samples_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class StyleTransfer:
    """Every content with every style: two inputs of height × width × 3 from 0 to 1, label 0."""

    content_path: str = ""
    style_path: str = ""
    crop_ratio: float = 0.1  # cut off at each side of the style
    resize_shape: tuple[int, ...] = (256, 256)  # height and width
    image_format: str = "jpg"  # how names end

    def open(self) -> LazySamples:
        if len(self.resize_shape) != 2 or not all(0 < size <= 8192 for size in self.resize_shape):
            raise BadValue("resize_shape must be a height and a width", fix="Write 256, 256")
        if not 0 <= self.crop_ratio < 0.5:
            raise BadValue(
                f"crop_ratio cannot be {self.crop_ratio:g}",
                why="it is cut off at each side, so at 0.5 nothing is left",
                fix="Choose 0 or more, and less than 0.5",
            )
        contents = open_folder(self.content_path, "content_path")
        styles = open_folder(self.style_path, "style_path")
        pairs = list(itertools.product(self._names(contents), self._names(styles)))

        def read(pair: tuple[str, str]) -> Sample:
            content, style = read_image(contents, pair[0]), read_image(styles, pair[1])
            return Sample((self._resize(content), self._resize(self._crop(style))), 0)

        return samples_of(
            pairs,
            read,
            why=f"one of the folders has no file whose name ends in {self.image_format!r}",
            fix="Check content_path, style_path and image_format",
        )

    def _names(self, folder: Folder) -> list[str]:
        return [name for name in folder.files() if name.endswith(self.image_format)]

    def _crop(self, image: Array) -> Array:
        top, left = (int(self.crop_ratio * size) for size in image.shape[:2])
        return image[top : len(image) - top, left : image.shape[1] - left]

    def _resize(self, image: Array) -> Array:
        pillow = require_package("PIL.Image", "Reading images")
        height, width = self.resize_shape
        resized = pillow.fromarray(np.ascontiguousarray(image)).resize((width, height))
        return np.asarray(resized, np.float32) / np.float32(255)
