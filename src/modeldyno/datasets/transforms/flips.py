"""Mirror half of the images, and the boxes in their labels with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.boxes import move_boxes
from modeldyno.datasets.transforms.images import image_of, with_image


@dataclass(frozen=True, kw_only=True)
class RandomHorizontalFlip:
    is_random: ClassVar[bool] = True

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return mirror(sample, axis=1) if random.random() < 0.5 else sample


@dataclass(frozen=True, kw_only=True)
class RandomVerticalFlip:
    is_random: ClassVar[bool] = True

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return mirror(sample, axis=0) if random.random() < 0.5 else sample


def mirror(sample: Sample, *, axis: int) -> Sample:
    """Axis 0: top and bottom change places; 1: left and right."""

    def move(
        boxes: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        moved = boxes.copy()
        moved[:, [axis, axis + 2]] = 1 - boxes[:, [axis + 2, axis]]
        return moved

    mirrored = with_image(sample, np.flip(image_of(sample), axis))
    return replace(mirrored, label=move_boxes(sample.label, move))
