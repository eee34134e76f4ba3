"""Worker logs in chunks, without terminal control sequences or folders of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.redaction import without_controls, without_folders


@dataclass(frozen=True)
class LogChunk:
    text: str
    next_offset: int  # unchanged if there is nothing more


def read_chunk(file: Path, offset: int, limit: int) -> LogChunk:
    """At most ``limit`` bytes from ``offset`` on, in whole lines; only a line longer than
    ``limit`` is split."""
    data = _read(file, offset, limit)
    if len(data) == limit and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    text = without_folders(without_controls(data.decode("utf-8", "replace")))
    return LogChunk(text, offset + len(data))


def _read(file: Path, offset: int, limit: int) -> bytes:
    try:
        with file.open("rb") as log:
            # Not beyond the end: some systems refuse to seek to offsets no file could have.
            log.seek(min(offset, log.seek(0, os.SEEK_END)))
            return log.read(limit)
    except FileNotFoundError:  # the run has not started yet
        return b""
