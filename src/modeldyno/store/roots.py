"""The folders in which clients may name files, and the only way from such a name to a file.

It gives an open descriptor, never a path: a path would be resolved again, and could lead elsewhere
by then.
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

from modeldyno.core.errors import FileNotFound, PathRefused
from modeldyno.core.names import names_in, path_refused, printable, require_plain_path
from modeldyno.store.safe_open import open_below, write_below

MOST_ENTRIES = 1000
SAVED_MODEL = "saved_model.pb"

Opening = Callable[[int, tuple[str, ...], int], int]


@dataclass(frozen=True)
class FileVersion:
    """Equal keys mean equal content, unless the file was changed twice within a tick of the file
    system's clock."""

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
        times = (status.st_mtime_ns, status.st_ctime_ns)  # only the system can set the second
        key = (status.st_dev, status.st_ino, status.st_size, *times)
        return FileVersion(key, time.time() - status.st_ctime)

    def path_beside(self, location: str) -> str:
        """The path of a file in the same folder."""
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
    """The path of a client is relative to one of the folders, or absolute and below one.

    The owner chooses the folders, so links on the way *to* one are followed.
    """

    def __init__(self, folders: Iterable[Path], opening: Opening = open_below) -> None:
        self._folders = tuple(Path(folder).absolute() for folder in folders)
        self._opening = opening

    @property
    def names(self) -> tuple[str, ...]:
        """The folders, in the owner's order."""
        return tuple(str(folder) for folder in self._folders)

    @contextmanager
    def open(self, path: str) -> Iterator[OpenFile]:
        """A regular file without hard links; closed at the end.

        Raises PathRefused or FileNotFound.
        """
        descriptor, place = self._open_below_roots(path, os.O_RDONLY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise path_refused(path, "it is not a file")
            if status.st_nlink != 1:  # its other name may be anywhere on this disk
                raise path_refused(path, "the file has a second name (a hard link)")
            yield OpenFile(descriptor, path.rpartition("/")[2], status.st_size, place)
        finally:
            os.close(descriptor)

    @contextmanager
    def open_model(self, path: str) -> Iterator[OpenFile]:
        """The file of a model. A folder with a ``saved_model.pb`` stands for that file, under the
        folder's name. Raises as ``open`` does."""
        inside = f"{path.rstrip('/')}/{SAVED_MODEL}"
        if self._is_saved_model(path):
            with self.open(inside) as file:
                yield replace(file, name=path.rstrip("/").rpartition("/")[2])
            return
        with self.open(path) as file:
            yield file

    def _is_saved_model(self, path: str) -> bool:
        try:
            descriptor, _ = self._open_below_roots(path.rstrip("/") or path, os.O_RDONLY)
        except (FileNotFound, PathRefused):
            return False
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                return False
            with os.scandir(descriptor) as entries:
                return any(entry.name == SAVED_MODEL for entry in entries)
        finally:
            os.close(descriptor)

    @contextmanager
    def folder(self, path: str) -> Iterator[tuple[int, str]]:
        """A folder and its path, absolute; closed at the end. Raises as ``open`` does."""
        plain = path.rstrip("/") or path
        descriptor, place = self._open_below_roots(plain, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield descriptor, place
        finally:
            os.close(descriptor)

    def write(self, folder: int, names: tuple[str, ...], content: bytes) -> None:
        """Write a file below an open folder, and create the folders of its path. It is replaced in
        one step, so hard links keep the old content. Raises PathRefused."""
        try:
            write_below(folder, names, content)
        except OSError as error:
            raise _path_error("/".join(names), error) from error

    def entries(self, path: str) -> Listing:
        """Files and folders that can be opened, without hidden ones, links and devices."""
        return _make_listing(self._list_entries(path))

    def absolute_path(self, path: str) -> str:
        """The absolute path of a folder; raises as ``entries`` does."""
        with self.folder(path) as (_, place):
            return place

    def list_top(self) -> Listing:
        """The entries of all folders together: what a relative path may start with."""
        entries = [entry for folder in reversed(self.names) for entry in self._list_entries(folder)]
        # of equal names, that in the first folder counts
        return _make_listing({entry.name: entry for entry in entries}.values())

    def _list_entries(self, path: str) -> list[FolderEntry]:
        with self.folder(path) as (descriptor, _), os.scandir(descriptor) as entries:
            return _sort_and_limit_entries(filter(None, map(_entry_from_dir, entries)))

    def _open_below_roots(self, path: str, flags: int) -> tuple[int, str]:
        for folder, names in self._split_below_roots(path):
            try:
                return self._open_below(folder, names, flags), "/".join((str(folder), *names))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _path_error(path, error) from error
        raise FileNotFound(
            f'There is no "{printable(path)}"',
            why="no folder that this server may use holds it",
            fix="Check the spelling, or start the server with --models-root FOLDER",
        )

    def _split_below_roots(self, path: str) -> list[tuple[Path, tuple[str, ...]]]:
        require_plain_path(path)
        if not path.startswith("/"):
            names = names_in(path)
            return [(folder, names) for folder in self._folders]
        candidates: list[tuple[Path, tuple[str, ...]]] = []
        for folder in self._folders:
            if path == str(folder):
                candidates.append((folder, ()))
            elif path.startswith(f"{folder}/"):
                candidates.append((folder, names_in(path[len(str(folder)) + 1 :])))
        if not candidates:
            raise PathRefused(
                f'"{printable(path)}" cannot be used as a path',
                why="it lies outside the folders that this server may use",
                fix="Put the file into models/exported of the workspace, or start the server with "
                "--models-root FOLDER",
            )
        return candidates

    def _open_below(self, folder: Path, names: tuple[str, ...], flags: int) -> int:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not names:
            return top
        try:
            return self._opening(top, names, flags)
        finally:
            os.close(top)


def _make_listing(entries: Iterable[FolderEntry]) -> Listing:
    first = _sort_and_limit_entries(entries)
    return Listing(tuple(first[:MOST_ENTRIES]), len(first) > MOST_ENTRIES)


def _sort_and_limit_entries(entries: Iterable[FolderEntry]) -> list[FolderEntry]:
    """One more than a listing has, if there are so many."""
    return heapq.nsmallest(
        MOST_ENTRIES + 1, entries, key=lambda entry: (entry.kind == "file", entry.name)
    )


def _path_error(path: str, error: OSError) -> Exception:
    match error.errno:
        case errno.ELOOP | errno.EXDEV:
            return path_refused(path, "a link is on the way")
        case errno.ENOTDIR:
            return path_refused(path, "a link or a file stands where a folder should be")
        case _:
            return path_refused(path, error.strerror or "it cannot be opened")


def _entry_from_dir(entry: os.DirEntry[str]) -> FolderEntry | None:
    try:
        names_in(entry.name)
        status = entry.stat(follow_symlinks=False)
    except (PathRefused, OSError):  # no client may use the name, or it was removed
        return None
    if stat.S_ISDIR(status.st_mode):
        return FolderEntry(entry.name, "folder", 0)
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return FolderEntry(entry.name, "file", status.st_size) if is_plain else None
