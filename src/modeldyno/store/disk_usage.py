"""How much of the disk files and folders use."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 512  # bytes: what st_blocks counts


@dataclass(frozen=True)
class DiskUsage:
    size_bytes: int = 0
    files: int = 0

    def __add__(self, other: DiskUsage) -> DiskUsage:
        return DiskUsage(self.size_bytes + other.size_bytes, self.files + other.files)


class DiskCounter:
    """A file with several names counts once, with the first of them."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def count(self, paths: Iterable[Path]) -> DiskUsage:
        """Of these files and of all in these folders; links are not followed."""
        size_bytes = files = 0
        for status, is_folder in _statuses(paths):
            identity = (status.st_dev, status.st_ino)
            if identity not in self._seen:
                self._seen.add(identity)
                size_bytes += status.st_blocks * _BLOCK
                files += not is_folder
        return DiskUsage(size_bytes, files)


def _statuses(paths: Iterable[Path]) -> Iterator[tuple[os.stat_result, bool]]:
    """What is gone or cannot be read meanwhile is left out."""
    remaining = [os.fspath(path) for path in paths]
    while remaining:
        path = remaining.pop()
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            is_folder = stat.S_ISDIR(status.st_mode)
            yield status, is_folder
            if is_folder:
                with os.scandir(path) as entries:
                    remaining.extend(entry.path for entry in entries)
