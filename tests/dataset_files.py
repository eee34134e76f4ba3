"""Files of datasets, written by Pillow or byte by byte, and how their refusals are checked."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from modeldyno.core.errors import UserError
from tests.tf_files import held, varint


def pixels(height, width, seed=0, channels=3):
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def encode_image(array, format="PNG", **options):
    file = io.BytesIO()
    Image.fromarray(array).save(file, format, **options)
    return file.getvalue()


def save_image(path: Path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = {".png": "PNG", ".jpg": "JPEG", ".bmp": "BMP"}[path.suffix]
    path.write_bytes(encode_image(array, kind, **options))
    return array


def refuse(action, *words, error=UserError):
    """The error of what must be refused: it says what, why and how to mend it."""
    with pytest.raises(error) as caught:
        action()
    assert caught.value.title
    assert caught.value.fix
    text = str(caught.value)
    assert [word for word in words if word not in text] == [], text
    return caught.value


def sample_of(reader, number=0):
    return reader.open()[number]


# ---------------------------------------------------------------- TFRecords


def example(**features):
    """A tf.train.Example; ``image__encoded`` is the feature ``image/encoded``."""
    entries = (
        held(1, held(1, key.replace("__", "/")) + held(2, _feature(values)))
        for key, values in features.items()
    )
    return held(1, b"".join(entries))


def _feature(values):
    values = values if isinstance(values, list) else [values]
    if not values or isinstance(values[0], bytes):
        return held(1, b"".join(held(1, value) for value in values))
    if isinstance(values[0], float):
        return held(2, held(1, struct.pack(f"<{len(values)}f", *values)))
    return held(3, held(1, b"".join(varint(value) for value in values)))


def record(content):
    length = struct.pack("<Q", len(content))
    return length + _masked(length) + content + _masked(content)


def write_records(path: Path, *contents):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(record, contents)))
    return path


def _masked(content):
    """CRC-32C, bit by bit."""
    state = 0xFFFFFFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    crc = state ^ 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
