"""What transforms of images share: the image of a sample is its first input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.boxes import crop_boxes

Image = np.ndarray[Any, Any]  # height × width, or height × width × channels


def image_of(sample: Sample) -> Image:
    """Raises BadValue if the first input is none."""
    image = sample.inputs[0]
    if image.ndim not in (2, 3) or 0 in image.shape:
        raise BadValue(
            f"A sample of shape {list(image.shape)} is not an image",
            why="an image is height × width, with or without channels at the end",
            fix="Decode it with DecodeImage, and put Transpose after what works on images",
        )
    return image


def with_image(sample: Sample, image: Image) -> Sample:
    return replace(sample, inputs=(image, *sample.inputs[1:]))


def require_height_and_width(transform: str, size: tuple[int, ...]) -> tuple[int, int]:
    """Of ``size``, where one number stands for both."""
    height_and_width = size * 2 if len(size) == 1 else size
    if len(height_and_width) != 2 or min(height_and_width) < 1:
        raise BadValue(
            f"{transform} cannot bring an image to the size {list(size)}",
            why="it needs a height and a width of at least 1, or one number for both",
            fix="Give size as in 224, 224",
        )
    return height_and_width[0], height_and_width[1]


def crop(sample: Sample, top: int, left: int, height: int, width: int) -> Sample:
    """The part of the image that begins at ``top`` and ``left``; boxes move with it. Raises
    BadValue if the part is not inside the image."""
    image = image_of(sample)
    rows, columns = image.shape[:2]
    if min(top, left) < 0 or top + height > rows or left + width > columns:
        raise BadValue(
            f"A part of {height} × {width} at {top}, {left} is not inside an image of "
            f"{rows} × {columns}",
            why="nothing is known of what lies outside an image",
            fix="Take a smaller part, or put Resize before it",
        )
    label = crop_boxes(sample.label, (rows, columns), (top, left, height, width))
    part = image[top : top + height, left : left + width]
    return replace(with_image(sample, part), label=label)
