"""Small files that lie beside a model, or that somebody names: read whole, and never waited for.

A stranger may have put a link to ``/dev/zero`` there, or a pipe that nobody writes to.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

LONGEST = 1 << 20  # bytes
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | _NOT_WAITING


class Unsuitable(OSError):
    """It is no regular file, or a longer one; ``strerror`` says which."""


def open_regular(path: Path) -> BinaryIO:
    """To read; raises OSError. Links are followed: caches of models are made of them, and a worker
    sees nothing outside of the model's folder."""
    _expect_regular(path, path.stat())  # opening a device can have effects
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    try:
        _expect_regular(path, os.fstat(file.fileno()))  # it may have been replaced in between
    except OSError:
        file.close()
        raise
    return file


def read_small(path: Path, longest: int = LONGEST) -> bytes:
    """Its content; raises OSError."""
    with open_regular(path) as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise Unsuitable(0, f"it is too long: {longest >> 10} KiB are enough", str(path))
    return content


def _expect_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unsuitable(0, "it is not a regular file", str(path))
