"""Files by their content: ``objects/aa/bb/<sha256>``, whole or not there, never changed.

A file comes in by descriptor or in pieces, is hashed as the bytes that *we* have, and gets its name
only when it is safely on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from modeldyno.core.errors import BadValue, FileNotFound, StorageFailed
from modeldyno.store.models import transfer

LARGEST = 8 << 30
KEPT_FREE = 1 << 30
LEFT_OVER_S = 3600.0
_LOOK_AFTER = 64 << 20  # bytes between two looks at the free space
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class StoredObject:
    sha256: str
    size_bytes: int


def free_space(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


class Objects:
    def __init__(
        self,
        folder: Path,
        largest: int = LARGEST,
        kept_free: int = KEPT_FREE,
        free: Callable[[Path], int] = free_space,
    ) -> None:
        self._folder = folder
        self._incoming = folder / "incoming"
        self.largest = largest
        self._kept_free = kept_free
        self._free = free

    def add(self, descriptor: int) -> StoredObject:
        """A copy of what is open here; raises BadValue (too large) or StorageFailed."""
        with self.receiving(os.fstat(descriptor).st_size) as incoming:
            incoming.copy(descriptor)
            return incoming.keep()

    @contextmanager
    def receiving(self, announced: int = 0) -> Iterator[Incoming]:
        """For pieces as they arrive; what is not kept at the end is gone."""
        self.check_size(announced)
        with storing():
            self._incoming.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.check_room(announced)
            incoming = Incoming(self, self._incoming / secrets.token_hex(16))
        try:
            yield incoming
        finally:
            incoming.close()

    def path(self, sha256: str) -> Path:
        """Raises BadValue for anything but 64 lower-case hexadecimal digits."""
        if not _DIGEST.fullmatch(sha256):
            raise BadValue(
                "That is not the checksum of a file",
                why="a checksum has 64 digits of 0-9 and a-f",
                fix="Take it from the list of models",
            )
        return self._folder / sha256[:2] / sha256[2:4] / sha256

    def open(self, sha256: str) -> int:
        """A descriptor, which the caller closes; raises BadValue or FileNotFound."""
        try:
            return os.open(self.path(sha256), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise FileNotFound(
                f"There is no file with the checksum {sha256[:12]}…", why=error.strerror or ""
            ) from error

    def remove(self, sha256: str) -> None:
        with storing():
            self.path(sha256).unlink(missing_ok=True)

    def all(self) -> Iterator[tuple[str, float]]:
        """Checksums, and since when (seconds since 1970) each file is there."""
        for path in self._folder.glob("??/??/*"):
            with contextlib.suppress(OSError):  # removed meanwhile
                yield path.name, path.stat().st_mtime

    def sweep(self, older_than_s: float = LEFT_OVER_S) -> int:
        """Removes what a killed server left half received; how many files."""
        removed = 0
        before = time.time() - older_than_s
        for path in self._incoming.glob("*"):
            with contextlib.suppress(OSError):  # it was kept, or swept by another, meanwhile
                if path.stat().st_mtime < before:
                    path.unlink()
                    removed += 1
        return removed

    def check_room(self, more: int) -> None:
        if self._free(self._incoming) - more < self._kept_free:
            raise StorageFailed(
                "There is not enough room in the workspace",
                why=f"{self._kept_free >> 20} MiB of the disk are left free for results",
                fix="Free some space or choose another folder with --workspace",
            )

    def check_size(self, size: int) -> None:
        if size > self.largest:
            raise BadValue(
                "The file is too large",
                why=f"models may have up to {self.largest >> 20} MiB here",
                fix="Measure it in the terminal, which has no such limit",
            )


class Incoming:
    """One file on its way in; made by :meth:`Objects.receiving`."""

    def __init__(self, objects: Objects, path: Path) -> None:
        self._objects = objects
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        self._size = 0
        self._looked_at = 0

    def write(self, data: bytes) -> None:
        self._grow(len(data))
        view = memoryview(data)
        with storing():
            while view:
                view = view[os.write(self._descriptor, view) :]

    def copy(self, source: int) -> None:
        """All that is open at ``source``, from its first byte."""
        with storing():
            os.lseek(source, 0, os.SEEK_SET)
            copied = transfer(source, self._descriptor, self._objects.largest + 1)
        self._objects.check_size(copied)  # it may have grown since it was opened
        self._size = copied

    def reading(self) -> BufferedReader:
        """What has arrived, from its first byte; the caller closes it."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._descriptor), "rb")

    def settle(self) -> StoredObject:
        """Nothing more comes: on the disk, read-only, and its checksum is known."""
        with storing():
            with self.reading() as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            os.fchmod(self._descriptor, 0o444)
            os.fsync(self._descriptor)
        return StoredObject(sha256, self._size)

    def keep(self, settled: StoredObject | None = None) -> StoredObject:
        """Under its checksum; a file that is there already stays, with all its names."""
        settled = settled or self.settle()
        target = self._objects.path(settled.sha256)
        with storing():
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                os.utime(target)  # it is needed again: nobody sweeps it for its age
            else:
                self._path.replace(target)
            for folder in (target.parent, target.parent.parent, target.parent.parent.parent):
                sync_folder(folder)
        return settled

    def keep_at(self, target: Path) -> None:
        """Under a name of the caller's, once it is settled."""
        with storing():
            target.parent.mkdir(parents=True, exist_ok=True)
            self._path.replace(target)
            sync_folder(target.parent)

    def close(self) -> None:
        os.close(self._descriptor)
        self._path.unlink(missing_ok=True)

    def _grow(self, more: int) -> None:
        self._size += more
        self._objects.check_size(self._size)
        if self._size - self._looked_at >= _LOOK_AFTER:
            self._looked_at = self._size
            self._objects.check_room(0)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def storing() -> Iterator[None]:
    """A disk that is full or read-only is no bug of ours: raises StorageFailed."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            "The file could not be stored",
            why=error.strerror or str(error),
            fix="Free some space or choose another folder with --workspace",
        ) from error
