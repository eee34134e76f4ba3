"""Read untrusted files without blocking, and never too much at once.

The path may be a link to ``/dev/zero``, or a pipe that nobody writes to.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

LONGEST = 1 << 20  # bytes of a small file
_NONBLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | _NONBLOCKING
_LONGEST_CHARACTER = 4  # bytes, in UTF-8


class Unsuitable(OSError):
    """Not a regular file, or too long; ``strerror`` says which."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; raises OSError. Links are followed, as model caches consist
    of them; a worker sees nothing outside the model's folder."""
    _require_regular(path, path.stat())  # opening a device can have effects
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    try:
        _require_regular(path, os.fstat(file.fileno()))  # it may have been replaced in between
    except OSError:
        file.close()
        raise
    return file


def read_small(path: Path, longest: int = LONGEST) -> bytes:
    """The whole content; raises OSError."""
    with open_regular(path) as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise Unsuitable(0, f"it is too long: {longest >> 10} KiB are enough", str(path))
    return content


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unsuitable(0, "it is not a regular file", str(path))


def hash_file(path: Path) -> str:
    """Reads in pieces: weights may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_text(content: bytes) -> bool:
    """Whether this is UTF-8 without control characters; the last character may be cut off."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start == 0 or error.start <= len(content) - _LONGEST_CHARACTER:
            return False
        text = content[: error.start].decode("utf-8")
    return all(c.isprintable() or c in "\t\n\r\f\ufeff" for c in text)


def decode_text(text: str | bytes) -> str:
    """Raises UnicodeDecodeError for bytes that are not UTF-8, as protobuf returns such names."""
    return text if isinstance(text, str) else text.decode("utf-8")
