"""Images to pixels, with Pillow: height × width × 3 in uint8."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from typing import Any, BinaryIO

import numpy as np

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.core.visible import visible
from modeldyno.datasets.readers.files import Folder, damaged
from modeldyno.datasets.readers.packages import require_package

Pixels = np.ndarray[Any, Any]

SUFFIXES = (*(".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"),)
MOST_PIXELS = 80_000_000  # below this, Pillow has no worries of its own
# Others run programs (PostScript), or read files beside them.
_FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_DEEP = ("I", "F")  # and I;16 of any byte order
_PALETTE = "P"


def read_image(folder: Folder, name: str) -> Pixels:
    with folder.open(name) as file:
        return decode_image(file, name)


def decode_image(encoded: BinaryIO | bytes, name: str) -> Pixels:
    """Raises DatasetUnreadable, which names it, for what is no image or an incomplete one."""
    return _decode(encoded, name, "RGB")


def decode_class_map(encoded: bytes, name: str) -> Pixels:
    """An image that holds a class for each pixel: height × width in uint8."""
    return _decode(encoded, name, "L")


def is_image(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _decode(encoded: BinaryIO | bytes, name: str, mode: str) -> Pixels:
    pillow = require_package("PIL.Image", "Reading images")
    source = io.BytesIO(encoded) if isinstance(encoded, bytes) else encoded
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
            with pillow.open(source, formats=_FORMATS) as image:
                _require_decodable(image, name)
                if mode == "L" and image.mode == _PALETTE:
                    return np.array(image)  # its indices are the classes, whatever their colours
                return np.array(image if image.mode == mode else image.convert(mode))
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise _too_large(name, "more pixels than Pillow opens") from error
    except pillow.UnidentifiedImageError as error:
        raise damaged(name, why="it is not a JPEG, PNG, BMP, GIF, TIFF, WebP or PPM") from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
        raise damaged(name, why=f"the image is damaged or incomplete: {error}") from error


def _require_decodable(image: Any, name: str) -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise _too_large(name, f"{width} × {height} pixels")
    if image.mode.startswith(_DEEP):
        raise DatasetUnreadable(
            f"{visible(name)} has more than 8 bits for each value",
            why="images are read as 8 bits, and cutting off the rest would change them unnoticed",
            fix="Convert it to 8 bits, or store it as an array (.npy)",
        )


def _too_large(name: str, size: str) -> DatasetUnreadable:
    return damaged(
        name,
        why=f"it has {size}; more than {MOST_PIXELS // 10**6} million are refused, as a small file "
        "of that kind fills the memory",
        fix="Make it smaller, or remove it",
    )
