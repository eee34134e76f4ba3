"""The folders that clients may name files in, and the one way from such a name to a file.

What comes back is an open descriptor, never a path: a path would be looked up again, and could
lead elsewhere then.
"""

from __future__ import annotations

import errno
import heapq
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from modeldyno.core.client_paths import check_text, names_in, refused, shown
from modeldyno.core.errors import FileNotFound, PathRefused
from modeldyno.store.safe_open import open_below, write_below

MOST_ENTRIES = 1000
SAVED_MODEL = "saved_model.pb"

Opening = Callable[[int, tuple[str, ...], int], int]


@dataclass(frozen=True)
class FileVersion:
    """Two that are equal mean the same bytes, once the file has been left alone for a moment: a
    change within one tick of the file system's clock does not show."""

    key: tuple[int, ...]
    age_s: float  # since its last change


@dataclass(frozen=True)
class OpenFile:
    descriptor: int
    name: str
    size_bytes: int
    place: str  # its path, absolute

    def version(self) -> FileVersion:
        status = os.fstat(self.descriptor)
        times = (status.st_mtime_ns, status.st_ctime_ns)  # nobody but the system sets the second
        key = (status.st_dev, status.st_ino, status.st_size, *times)
        return FileVersion(key, time.time() - status.st_ctime)

    def beside(self, location: str) -> str:
        """The path of a file in the same folder, to be opened in its turn."""
        return f"{self.place.rpartition('/')[0]}/{location}"


@dataclass(frozen=True)
class FolderEntry:
    name: str
    kind: Literal["folder", "file"]
    size_bytes: int


@dataclass(frozen=True)
class Listing:
    entries: tuple[FolderEntry, ...]  # folders first, then by name
    is_cut: bool  # there are more


class Roots:
    """A path of a client is relative to one of the folders, or absolute and below one.

    The folders are the owner's choice, so links on the way *to* one are followed.
    """

    def __init__(self, folders: Iterable[Path], opening: Opening = open_below) -> None:
        self._folders = tuple(Path(folder).absolute() for folder in folders)
        self._opening = opening

    @property
    def names(self) -> tuple[str, ...]:
        """What a client may start from, in the owner's order."""
        return tuple(str(folder) for folder in self._folders)

    @contextmanager
    def open(self, path: str) -> Iterator[OpenFile]:
        """A regular file that has no other name; closed at the end.

        Raises PathRefused or FileNotFound.
        """
        descriptor, place = self._first(path, os.O_RDONLY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise refused(path, "it is not a file")
            if status.st_nlink != 1:  # its other name may be anywhere on this disk
                raise refused(path, "the file has a second name (a hard link)")
            yield OpenFile(descriptor, path.rpartition("/")[2], status.st_size, place)
        finally:
            os.close(descriptor)

    @contextmanager
    def model(self, path: str) -> Iterator[OpenFile]:
        """The file of a model: a folder that holds ``saved_model.pb`` stands for that, and gives it
        its name. Raises as ``open`` does."""
        inside = f"{path.rstrip('/')}/{SAVED_MODEL}"
        if self._is_folder(path):
            with self.open(inside) as file:
                yield replace(file, name=path.rstrip("/").rpartition("/")[2])
            return
        with self.open(path) as file:
            yield file

    def _is_folder(self, path: str) -> bool:
        """One that holds a model."""
        try:
            descriptor, _ = self._first(path.rstrip("/") or path, os.O_RDONLY)
        except (FileNotFound, PathRefused):
            return False
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                return False
            with os.scandir(descriptor) as found:
                return any(entry.name == SAVED_MODEL for entry in found)
        finally:
            os.close(descriptor)

    @contextmanager
    def folder(self, path: str) -> Iterator[tuple[int, str]]:
        """A folder and its path, absolute; closed at the end. Raises as ``open`` does."""
        descriptor, place = self._first(path.rstrip("/") or path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield descriptor, place
        finally:
            os.close(descriptor)

    def write(self, folder: int, names: tuple[str, ...], content: bytes) -> None:
        """A file below an open folder, with the folders on the way; replaced in one step, so that
        a second name of the one before keeps what it had. Raises PathRefused."""
        try:
            write_below(folder, names, content)
        except OSError as error:
            raise _told("/".join(names), error) from error

    def entries(self, path: str) -> Listing:
        """Files and folders that could be opened; hidden ones, links and devices are left out."""
        return _cut(self._listed(path))

    def place(self, path: str) -> str:
        """Where a folder is, absolute; raises as ``entries`` does."""
        descriptor, place = self._first(path, os.O_RDONLY | os.O_DIRECTORY)
        os.close(descriptor)
        return place

    def top(self) -> Listing:
        """What lies in all the folders together: what a relative path may start with."""
        found = [entry for folder in reversed(self.names) for entry in self._listed(folder)]
        return _cut({entry.name: entry for entry in found}.values())  # the first folder's wins

    def _listed(self, path: str) -> list[FolderEntry]:
        descriptor, _ = self._first(path.rstrip("/") or path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(descriptor) as found:
                return heapq.nsmallest(
                    MOST_ENTRIES + 1,
                    filter(None, map(_entry, found)),
                    key=_in_order,
                )
        finally:
            os.close(descriptor)

    def _first(self, path: str, flags: int) -> tuple[int, str]:
        for folder, names in self._places(path):
            try:
                return self._open(folder, names, flags), "/".join((str(folder), *names))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _told(path, error) from error
        raise FileNotFound(
            f'There is no "{shown(path)}"',
            why="no folder that this server may use holds it",
            fix="Check the spelling, or start the server with --models-root FOLDER",
        )

    def _places(self, path: str) -> list[tuple[Path, tuple[str, ...]]]:
        check_text(path)
        if not path.startswith("/"):
            names = names_in(path)
            return [(folder, names) for folder in self._folders]
        found: list[tuple[Path, tuple[str, ...]]] = []
        for folder in self._folders:
            if path == str(folder):
                found.append((folder, ()))
            elif path.startswith(f"{folder}/"):
                found.append((folder, names_in(path[len(str(folder)) + 1 :])))
        if not found:
            raise PathRefused(
                f'"{shown(path)}" cannot be used as a path',
                why="it lies outside the folders that this server may use",
                fix="Put the file into models/exported of the workspace, or start the server with "
                "--models-root FOLDER",
            )
        return found

    def _open(self, folder: Path, names: tuple[str, ...], flags: int) -> int:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not names:
            return top
        try:
            return self._opening(top, names, flags)
        finally:
            os.close(top)


def _cut(found: Iterable[FolderEntry]) -> Listing:
    first = heapq.nsmallest(MOST_ENTRIES + 1, found, key=_in_order)
    return Listing(tuple(first[:MOST_ENTRIES]), len(first) > MOST_ENTRIES)


def _in_order(entry: FolderEntry) -> tuple[bool, str]:
    return entry.kind == "file", entry.name


def _told(path: str, error: OSError) -> Exception:
    match error.errno:
        case errno.ELOOP | errno.EXDEV:
            return refused(path, "a link is on the way")
        case errno.ENOTDIR:
            return refused(path, "a link or a file stands where a folder should be")
        case _:
            return refused(path, error.strerror or "it cannot be opened")


def _entry(found: os.DirEntry[str]) -> FolderEntry | None:
    try:
        names_in(found.name)
        status = found.stat(follow_symlinks=False)
    except (PathRefused, OSError):  # a name that no client can say, or gone meanwhile
        return None
    if stat.S_ISDIR(status.st_mode):
        return FolderEntry(found.name, "folder", 0)
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return FolderEntry(found.name, "file", status.st_size) if is_plain else None
