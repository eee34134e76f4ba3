"""Files by content: ``objects/aa/bb/<sha256>``, complete and never changed.

A file is received from a descriptor or in pieces; our copy is hashed, and gets its name once it is
synced to the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from modeldyno.core.errors import BadValue, FileNotFound, StorageFailed
from modeldyno.store.durable_files import sync_folder
from modeldyno.store.models import copy_bytes

LARGEST = 8 << 30
KEPT_FREE = 1 << 30
LEFT_OVER_S = 3600.0
_CHECK_EVERY = 64 << 20  # bytes between two checks of the free space
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
        self.folder = folder
        self._incoming = folder / "incoming"
        self.largest = largest
        self._kept_free = kept_free
        self._free = free

    def add(self, descriptor: int) -> StoredObject:
        """Copy an open file; raises BadValue (too large) or StorageFailed."""
        with self.receiving(os.fstat(descriptor).st_size) as incoming:
            incoming.copy(descriptor)
            return incoming.store()

    @contextmanager
    def receiving(self, announced: int = 0) -> Iterator[Incoming]:
        """Receive a file in pieces; it is deleted at the end unless it was kept."""
        self.check_size(announced)
        with translated_storage_errors():
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
        return self.folder / sha256[:2] / sha256[2:4] / sha256

    def open(self, sha256: str) -> int:
        """A descriptor, which the caller closes; raises BadValue or FileNotFound."""
        try:
            return os.open(self.path(sha256), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise FileNotFound(
                f"There is no file with the checksum {sha256[:12]}…", why=error.strerror or ""
            ) from error

    def name(self, sha256: str, path: Path) -> None:
        """Make ``path`` a second name of it, which stays when the object is removed."""
        with translated_storage_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            try:
                os.link(self.path(sha256), path)
            except OSError:  # hard links are not supported
                shutil.copyfile(self.path(sha256), path)

    def remove(self, sha256: str) -> None:
        with translated_storage_errors():
            self.path(sha256).unlink(missing_ok=True)

    def all(self) -> Iterator[tuple[str, float]]:
        """The checksum and the modification time (seconds since 1970) of each file."""
        for path in self.folder.glob("??/??/*"):
            with contextlib.suppress(OSError):  # removed meanwhile
                yield path.name, path.stat().st_mtime

    def sweep(self, older_than_s: float = LEFT_OVER_S) -> int:
        """Delete partly received files of killed servers; returns how many."""
        removed = 0
        before = time.time() - older_than_s
        for path in self._incoming.glob("*"):
            with contextlib.suppress(OSError):  # kept or removed meanwhile
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
    """A file that is being received; made by :meth:`Objects.receiving`."""

    def __init__(self, objects: Objects, path: Path) -> None:
        self._objects = objects
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        self._size = 0
        self._checked_at = 0

    def write(self, data: bytes) -> None:
        self._add_size(len(data))
        view = memoryview(data)
        with translated_storage_errors():
            while view:
                view = view[os.write(self._descriptor, view) :]

    def copy(self, source: int) -> None:
        """All of ``source``, from its first byte."""
        with translated_storage_errors():
            os.lseek(source, 0, os.SEEK_SET)
            copied = copy_bytes(source, self._descriptor, self._objects.largest + 1)
        self._objects.check_size(copied)  # it may have grown since it was opened
        self._size = copied

    def open_from_start(self) -> BufferedReader:
        """The content so far, from its first byte; the caller closes it."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._descriptor), "rb")

    def sync_and_hash(self) -> StoredObject:
        """Sync it, make it read-only, and compute its checksum."""
        with translated_storage_errors():
            with self.open_from_start() as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            os.fchmod(self._descriptor, 0o444)
            os.fsync(self._descriptor)
        return StoredObject(sha256, self._size)

    def store(self, settled: StoredObject | None = None) -> StoredObject:
        """Store it by its checksum; an existing file stays, with its hard links."""
        settled = settled or self.sync_and_hash()
        target = self._objects.path(settled.sha256)
        with translated_storage_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                os.utime(target)  # in use again: it must not be swept for its age
            else:
                self._path.replace(target)
            for folder in (target.parent, target.parent.parent, target.parent.parent.parent):
                sync_folder(folder)
        return settled

    def move_to(self, target: Path) -> None:
        """Move it to this path, once it is settled."""
        with translated_storage_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            self._path.replace(target)
            sync_folder(target.parent)

    def close(self) -> None:
        os.close(self._descriptor)
        self._path.unlink(missing_ok=True)

    def _add_size(self, more: int) -> None:
        self._size += more
        self._objects.check_size(self._size)
        if self._size - self._checked_at >= _CHECK_EVERY:
            self._checked_at = self._size
            self._objects.check_room(0)


@contextmanager
def translated_storage_errors() -> Iterator[None]:
    """Raises StorageFailed for OSError, such as a full disk."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            "The file could not be stored",
            why=error.strerror or str(error),
            fix="Free some space or choose another folder with --workspace",
        ) from error
