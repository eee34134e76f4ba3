"""Between the bytes of an image file and pixels. The bytes are an array of one dimension."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.images import image_of, with_image

FORMATS = ("JPEG", "PNG", "BMP", "GIF")  # what tf.image.decode_image reads
MOST_PIXELS = 80_000_000  # Pillow warns from 89 million on
QUALITY = 95  # as tf.image.encode_jpeg has it


@dataclass(frozen=True, kw_only=True)
class DecodeImage:
    """Leaves alone what is decoded already, as our readers of images do."""

    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        encoded = sample.inputs[0]
        if encoded.ndim in (2, 3):
            return sample
        return with_image(sample, decode(encoded.tobytes()))


def decode(content: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Height × width × 3. Raises BadValue if it is damaged, or too large to be sensible."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BadValue(
                    f"An image of {image.width} × {image.height} pixels is too large",
                    why=f"at most {MOST_PIXELS:,} pixels are decoded",
                    fix="Make it smaller, or leave it out",
                )
            return np.asarray(image.convert("RGB"))
    except (
        *(OSError, SyntaxError, ValueError, UnidentifiedImageError),
        *(Image.DecompressionBombError, Image.DecompressionBombWarning),
    ) as error:
        raise BadValue(
            "A sample cannot be decoded as an image",
            why=str(error) or type(error).__name__,
            fix="Replace the file, or leave it out",
        ) from error


@dataclass(frozen=True, kw_only=True)
class EncodeJpeg:
    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        from PIL import Image

        pixels = image_of(sample)
        grey = pixels.ndim == 2 or pixels.shape[2] == 1
        if pixels.dtype != np.uint8 or not (grey or pixels.shape[2] == 3):
            raise BadValue(
                f"EncodeJpeg cannot encode {pixels.dtype} of shape {list(pixels.shape)}",
                why="a JPEG file holds bytes of one or three channels",
                fix="Put AlignImageChannel before it, and Cast to uint8",
            )
        image = Image.fromarray(pixels[:, :, 0] if grey and pixels.ndim == 3 else pixels)
        file = BytesIO()
        image.save(file, "JPEG", quality=QUALITY, subsampling=0 if grey else 2)
        return with_image(sample, np.frombuffer(file.getvalue(), dtype=np.uint8))


@dataclass(frozen=True, kw_only=True)
class ParseDecodeImagenet:
    """Does nothing: ImageRecord gives pixels."""

    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return sample
