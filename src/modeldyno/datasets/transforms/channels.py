"""Order the axes of an image, and give it the channels that a model needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.images import Image, image_of, with_image


@dataclass(frozen=True, kw_only=True)
class Transpose:
    perm: tuple[int, ...] = ()
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.perm or sorted(self.perm) != list(range(len(self.perm))):
            raise BadValue(
                f"Transpose cannot order axes as {list(self.perm)}",
                why="each axis, counted from 0, has one place",
                fix="Give perm as in 2, 0, 1: channels first",
            )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        array = sample.inputs[0]
        if array.ndim != len(self.perm):
            raise BadValue(
                f"Transpose has {len(self.perm)} axes, but a sample has the shape "
                f"{list(array.shape)}",
                fix="Give perm a place for each axis; AlignImageChannel gives images channels",
            )
        return with_image(sample, np.ascontiguousarray(array.transpose(self.perm)))


@dataclass(frozen=True, kw_only=True)
class ToArray:
    """Does nothing: our readers give arrays."""

    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return sample


@dataclass(frozen=True, kw_only=True)
class AlignImageChannel:
    dim: int = 3
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.dim <= 4:
            raise BadValue(
                f"AlignImageChannel cannot give an image {self.dim} channels",
                fix="Give dim 1 (grey), 3 (colour) or 4",
            )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return with_image(sample, _align(image_of(sample), self.dim))


def _align(image: Image, channels: int) -> Image:
    if image.ndim == 2:
        image = image[:, :, np.newaxis]
    match image.shape[2], channels:
        case present, wanted if present == wanted:
            return image
        case 1, _:
            return np.repeat(image, channels, axis=2)
        case 4, 3:
            return image[:, :, :3]
        case 3, 1:
            return _grey(image)
    raise BadValue(
        f"An image of {image.shape[2]} channels cannot be brought to {channels}",
        why="grey can be repeated, transparency left out, and colour made grey",
        fix="Give dim the number of channels that the images have",
    )


def _grey(image: Image) -> Image:
    """Luma (ITU-R 601), in Pillow's integers where pixels are bytes."""
    if image.dtype == np.uint8:
        from PIL import Image as pillow

        return np.asarray(pillow.fromarray(image).convert("L"))[:, :, np.newaxis]
    weights = np.asarray([0.299, 0.587, 0.114], dtype=np.float32)
    return np.asarray(image.astype(np.float32) @ weights)[:, :, np.newaxis]
