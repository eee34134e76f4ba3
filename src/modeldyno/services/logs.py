"""What workers printed, stretch by stretch: plain text that commands no terminal."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.redaction import without_controls, without_folders


@dataclass(frozen=True)
class Stretch:
    text: str
    next_offset: int  # the one asked for when there was nothing


def stretch(file: Path, offset: int, limit: int) -> Stretch:
    """At most ``limit`` bytes from ``offset`` on. Whole lines, so that nothing is cut in its
    middle; only a longer line comes in pieces."""
    data = _read(file, offset, limit)
    if len(data) == limit and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    text = without_folders(without_controls(data.decode("utf-8", "replace")))
    return Stretch(text, offset + len(data))


def _read(file: Path, offset: int, limit: int) -> bytes:
    try:
        with file.open("rb") as log:
            # Not beyond its end: where no file could reach, some systems refuse to go.
            log.seek(min(offset, log.seek(0, os.SEEK_END)))
            return log.read(limit)
    except FileNotFoundError:  # it waits still
        return b""
