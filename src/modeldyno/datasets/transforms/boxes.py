"""Boxes in the label of a detection sample follow what happens to its image.

Such a label is ``(boxes, names, classes, image id, …)``: a box is top, left, bottom and right as
fractions of height and width, and what stands in lists of the same length belongs to the boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CLASSES, _ID = 2, 3  # parts of a label; the latter is of the image, the others of its boxes

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def move_boxes(label: Any, move: Callable[[FloatArray], FloatArray]) -> Any:
    """Any other label stays as it is."""
    if not has_boxes(label):
        return label
    boxes = np.asarray(label[0], dtype=np.float64).reshape(-1, 4)
    return rebuild(label, [move(boxes), *label[1:]])


def rebuild(label: Any, parts: list[Any]) -> Any:
    """A label of the same kind, whose parts may have names."""
    return type(label)(*parts) if hasattr(label, "_fields") else type(label)(parts)


def crop_boxes(label: Any, image: tuple[int, int], part: tuple[int, int, int, int]) -> Any:
    """``part`` is top, left, height and width in pixels. What is outside is cut off; boxes of
    which nothing is left go, with their classes."""
    top, left, height, width = part

    def move(boxes: FloatArray) -> FloatArray:
        pixels = boxes * (image * 2) - (top, left, top, left)
        return np.clip(pixels / (height, width, height, width), 0, 1)

    moved = move_boxes(label, move)
    if moved is label:
        return label
    boxes = moved[0]
    kept = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    parts = [part if at == _ID else _keep(part, kept) for at, part in enumerate(moved)]
    return rebuild(label, parts)


def has_boxes(label: Any) -> bool:
    if not isinstance(label, (tuple, list)) or len(label) < 4:
        return False
    shape = np.shape(label[0])
    return shape == (0,) or (len(shape) == 2 and shape[1] == 4)


def _keep(part: Any, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
    if len(part) != len(kept):  # without names, or without classes
        return part
    if isinstance(part, np.ndarray):
        return part[kept]
    return type(part)(entry for entry, stays in zip(part, kept, strict=True) if stays)
