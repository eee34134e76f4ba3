"""Unpack an archive into a new folder, completely or not at all.

Limits apply to what was really unpacked, not to what the archive says.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import ArchiveRefused, PathRefused, StorageFailed
from modeldyno.core.names import names_in
from modeldyno.formats.containers.members import Member, archive_refused_error, members

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class ArchiveLimits:
    total_bytes: int = 16 << 30
    ratio: int = 200  # unpacked to packed; a file of zeros reaches 1000
    free_bytes: int = 1 << 20  # allowed at any ratio: small files pack very well


CheckRoom = Callable[[int], None]  # raises if there is no room for this many more bytes


@dataclass(frozen=True)
class Extracted:
    name: str
    size_bytes: int


def extract(
    archive: BinaryIO,
    folder: Path,
    limits: ArchiveLimits | None = None,
    check_room: CheckRoom = lambda more: None,
) -> tuple[Extracted, ...]:
    """Unpack all files, in order, below ``folder``, which must not exist yet.

    They become read-only, whatever modes, owners and dates the archive gives; archives inside are
    not unpacked. Raises ArchiveRefused, StorageFailed or what ``check_room`` raises, and leaves no
    folder then.
    """
    try:
        folder.mkdir(mode=0o700)
        with _removed_unless_finished(folder):
            return tuple(_extract(archive, folder, limits or ArchiveLimits(), check_room))
    except OSError as error:
        raise StorageFailed(
            "The archive could not be unpacked",
            why=error.strerror or str(error),
            fix="Free some space or choose another folder with --workspace",
        ) from error


@contextmanager
def _removed_unless_finished(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(folder)
        raise


def _extract(
    archive: BinaryIO, folder: Path, limits: ArchiveLimits, check_room: CheckRoom
) -> Iterator[Extracted]:
    taken = _TakenNames()
    whole = archive.seek(0, os.SEEK_END)
    archive.seek(0)
    total = 0
    for member in members(archive):
        names = taken.require_free(member)
        if member.pieces is None:
            with _open_folder(folder, names):
                continue
        size = 0
        with _open_folder(folder, names[:-1]) as place, _new_file(names[-1], place) as target:
            for piece in member.pieces:
                size += len(piece)
                _require_within(
                    size, whole if member.packed_bytes is None else member.packed_bytes, limits
                )
                _require_within(total + size, whole, limits)
                check_room(len(piece))
                _write(target, piece)
        if size != member.size_bytes:
            raise archive_refused_error("a member is longer or shorter than it says")
        total += size
        yield Extracted("/".join(names), size)


def _require_within(size: int, packed: int, limits: ArchiveLimits) -> None:
    if size > limits.total_bytes:
        raise archive_refused_error(f"it would fill more than {limits.total_bytes >> 20} MiB")
    if size > limits.free_bytes and size > limits.ratio * packed:
        raise archive_refused_error(f"it unpacks to more than {limits.ratio} times its size")


class _TakenNames:
    """Names in use, compared as file systems that ignore case and accents do."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}  # as compared → as spelled
        self._files: set[str] = set()

    def require_free(self, member: Member) -> tuple[str, ...]:
        try:
            names = names_in(member.name)
        except PathRefused as error:
            raise archive_refused_error(f"a member has no plain name: {error.why}") from error
        folders = names if member.pieces is None else names[:-1]
        for depth in range(1, len(folders) + 1):
            self._take_folder("/".join(folders[:depth]))
        if member.pieces is not None:
            key = _comparison_key(member.name)
            if key in self._files or key in self._folders:
                raise _name_clash_error()
            self._files.add(key)
        return names

    def _take_folder(self, name: str) -> None:
        key = _comparison_key(name)
        if key in self._files or self._folders.setdefault(key, name) != name:
            raise _name_clash_error()


def _comparison_key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _name_clash_error() -> ArchiveRefused:
    return archive_refused_error("two members have one name, or nearly")


@contextmanager
def _open_folder(folder: Path, names: tuple[str, ...]) -> Iterator[int]:
    """A descriptor of the folder at these names, created if missing."""
    at = os.open(folder, _FOLDER)
    try:
        for name in names:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=at)
            inner = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


@contextmanager
def _new_file(name: str, folder: int) -> Iterator[int]:
    descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        yield descriptor
        os.fchmod(descriptor, 0o444)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(target: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(target, view) :]
