"""Bring images to a size as Pillow does, or as TensorFlow does: their pixels differ.

Pillow averages all pixels that fall into a smaller one. ``tf.image.resize`` does so only with
``antialias=True``, which is not its default: it looks at the nearest two (bilinear) or four
(bicubic) in each direction. Both take the centre of a pixel as its place.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from modeldyno.core.errors import BadValue

Image = np.ndarray[Any, Any]
Library = Literal["pillow", "tensorflow"]
INTERPOLATIONS = ("bilinear", "nearest", "bicubic")

_SHARPNESS = -0.5  # of Keys' cubic, as TensorFlow has it for half-pixel centres
_STEPS = 1024  # TensorFlow reads cubic weights from a table of this many places


def require_interpolation(name: str) -> None:
    if name not in INTERPOLATIONS:
        raise BadValue(
            f"There is no interpolation {name[:100]!r}",
            fix=f"Choose one of: {', '.join(INTERPOLATIONS)}",
        )


def resample(library: Library, image: Image, height: int, width: int, interpolation: str) -> Image:
    resize = like_pillow if library == "pillow" else like_tensorflow
    return resize(image, height, width, interpolation)


def like_pillow(image: Image, height: int, width: int, interpolation: str) -> Image:
    """``uint8`` stays so; everything else becomes ``float32``."""
    from PIL import Image as pillow

    method = pillow.Resampling[interpolation.upper()]
    if image.dtype != np.uint8:
        image = image.astype(np.float32, copy=False)
    elif image.ndim == 2 or image.shape[2] == 3:
        return np.asarray(pillow.fromarray(image).resize((width, height), method))
    if image.ndim == 2:
        return np.asarray(pillow.fromarray(image).resize((width, height), method))
    # One by one: of four channels, Pillow would take the last for transparency.
    channels = [like_pillow(c, height, width, interpolation) for c in np.moveaxis(image, 2, 0)]
    return np.stack(channels, axis=2)


def like_tensorflow(image: Image, height: int, width: int, interpolation: str) -> Image:
    """``float32``, unless the nearest pixels are taken as they are."""
    rows, columns = image.shape[:2]
    if interpolation == "nearest":
        return np.asarray(image[_nearest(rows, height)][:, _nearest(columns, width)])
    image = image.astype(np.float32)
    weigh = _two_neighbours if interpolation == "bilinear" else _four_neighbours
    across = _combine(image, *weigh(columns, width), axis=1)
    return _combine(across, *weigh(rows, height), axis=0)


def _places(before: int, after: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Where the new pixels' centres lie, counted in old pixels."""
    scale = np.float32(before) / np.float32(after)
    return (np.arange(after, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5)


def _nearest(before: int, after: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    scale = np.float32(before) / np.float32(after)
    places = (np.arange(after, dtype=np.float32) + np.float32(0.5)) * scale
    return np.asarray(np.minimum(np.floor(places), before - 1), dtype=np.int64)


def _two_neighbours(before: int, after: int) -> tuple[Any, Any]:
    places = _places(before, after)
    below = np.floor(places)
    share = places - below
    indices = np.stack([below, np.ceil(places)]).astype(np.int64)
    return np.clip(indices, 0, before - 1), np.stack([1 - share, share])


def _four_neighbours(before: int, after: int) -> tuple[Any, Any]:
    """Those outside of the image count nothing, and the others make up for it."""
    places = _places(before, after)
    below = np.floor(places)
    share = np.rint((places - below) * _STEPS) / np.float32(_STEPS)
    indices = np.stack([below - 1, below, below + 1, below + 2]).astype(np.int64)
    weights = np.stack([_outer(1 + share), _inner(share), _inner(1 - share), _outer(2 - share)])
    weights *= (indices >= 0) & (indices < before)
    return np.clip(indices, 0, before - 1), weights / weights.sum(axis=0)


def _inner(x: Any) -> Any:
    return ((_SHARPNESS + 2) * x - (_SHARPNESS + 3)) * x * x + 1


def _outer(x: Any) -> Any:
    return ((_SHARPNESS * x - 5 * _SHARPNESS) * x + 8 * _SHARPNESS) * x - 4 * _SHARPNESS


def _combine(image: Image, indices: Any, weights: Any, *, axis: int) -> Image:
    shape = [1] * image.ndim
    shape[axis] = -1
    total = np.float32(0)
    for index, weight in zip(indices, weights.astype(np.float32), strict=True):
        total = total + np.take(image, index, axis=axis) * weight.reshape(shape)
    return np.asarray(total)
