"""Prepare photographs as models of ImageNet were trained with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.crops import CenterCrop, crop_somewhere
from modeldyno.datasets.transforms.flips import mirror
from modeldyno.datasets.transforms.images import (
    Image,
    crop,
    image_of,
    require_height_and_width,
    with_image,
)
from modeldyno.datasets.transforms.resampling import (
    Library,
    like_pillow,
    like_tensorflow,
    resample,
)
from modeldyno.datasets.transforms.values import of_channels, require_deviations


@dataclass(frozen=True, kw_only=True)
class ResizeCropImagenet:
    """For ONNX Runtime and PyTorch: divided by 255 and by deviations, channels first."""

    height: int = 0
    width: int = 0
    random_crop: bool = False
    resize_side: int = 256
    mean_value: tuple[float, ...] = (0.0, 0.0, 0.0)
    std_value: tuple[float, ...] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        _require_side(self.height, self.width, self.resize_side)
        require_deviations("ResizeCropImagenet", self.std_value)

    @property
    def is_random(self) -> bool:
        return self.random_crop

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        image = image_of(sample)
        if image.ndim == 2:
            image = np.repeat(image[:, :, np.newaxis], 3, axis=2)
        scale = self.resize_side / min(image.shape[:2])
        height, width = (int(side * scale) for side in image.shape[:2])
        resized = with_image(sample, like_pillow(image, height, width, "bilinear"))
        part = _part(resized, (self.height, self.width), random if self.random_crop else None)
        values = image_of(part).astype(np.float32) / np.float32(255)
        values = values - of_channels("mean_value", self.mean_value, values)
        values = values / of_channels("std_value", self.std_value, values)
        return with_image(part, np.ascontiguousarray(values.transpose(2, 0, 1)))


@dataclass(frozen=True, kw_only=True)
class TensorFlowResizeCropImagenet:
    """For TensorFlow: of 0–255, multiplied by a scale, channels last."""

    height: int = 0
    width: int = 0
    random_crop: bool = False
    resize_side: int = 256
    random_flip_left_right: bool = False
    mean_value: tuple[float, ...] = (0.0, 0.0, 0.0)
    scale: float = 1.0

    def __post_init__(self) -> None:
        _require_side(self.height, self.width, self.resize_side)

    @property
    def is_random(self) -> bool:
        return self.random_crop or self.random_flip_left_right

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        image = image_of(sample)
        scale = self.resize_side / min(image.shape[:2])
        height, width = (int(np.rint(side * scale)) for side in image.shape[:2])
        resized = with_image(sample, like_tensorflow(image, height, width, "bilinear"))
        part = _part(resized, (self.height, self.width), random if self.random_crop else None)
        if self.random_flip_left_right and random.random() < 0.5:
            part = mirror(part, axis=1)
        values = image_of(part)
        values = values - of_channels("mean_value", self.mean_value, values)
        return with_image(part, values * np.float32(self.scale))


def _require_side(height: int, width: int, resize_side: int) -> None:
    require_height_and_width("ResizeCropImagenet", (height, width))
    if resize_side < max(height, width):
        raise BadValue(
            f"ResizeCropImagenet cannot cut {height} × {width} out of a side of {resize_side}",
            why="resize_side is the length of the shorter side before the image is cut",
            fix=f"Give resize_side at least {max(height, width)}",
        )


def _part(sample: Sample, size: tuple[int, int], random: np.random.Generator | None) -> Sample:
    """From the middle, or from somewhere."""
    if random is None:
        return CenterCrop(size=size).apply(sample, np.random.default_rng(0))
    return crop_somewhere(sample, *size, random)


@dataclass(frozen=True, kw_only=True)
class BilinearImagenet:
    height: int = 224
    width: int = 224
    central_fraction: float = 0.875
    mean_value: tuple[float, ...] = (0.0, 0.0, 0.0)
    scale: float = 1.0
    is_random: ClassVar[bool] = False
    library: ClassVar[Library] = "pillow"

    def __post_init__(self) -> None:
        require_height_and_width("BilinearImagenet", (self.height, self.width))
        if not 0 < self.central_fraction <= 1:
            raise BadValue(
                f"BilinearImagenet cannot keep {self.central_fraction} of an image",
                why="it is a fraction of each side",
                fix="Give central_fraction as in 0.875",
            )

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        part = self._middle(sample)
        image = _from_zero_to_one(image_of(part))
        image = resample(self.library, image, self.height, self.width, "bilinear")
        image = (image - np.float32(0.5)) * np.float32(2)
        image = image - of_channels("mean_value", self.mean_value, image)
        return with_image(part, image * np.float32(self.scale))

    def _middle(self, sample: Sample) -> Sample:
        rows, columns = image_of(sample).shape[:2]
        top, left = (int((side - side * self.central_fraction) / 2) for side in (rows, columns))
        return crop(sample, top, left, rows - 2 * top, columns - 2 * left)


class TensorFlowBilinearImagenet(BilinearImagenet):
    library: ClassVar[Library] = "tensorflow"


def _from_zero_to_one(image: Image) -> Image:
    """Integers by the most that their type can hold, as in ``tf.image.convert_image_dtype``."""
    most = np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1
    return image.astype(np.float32) / np.float32(most)
