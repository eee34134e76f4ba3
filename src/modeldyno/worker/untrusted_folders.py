"""Walk and remove folders that a stranger could write to.

How deep and how full they are is the stranger's choice. So nothing here recurses, joins paths or
keeps a descriptor for each level: one folder is open at a time, links are never followed, and the
way back up is ``..``, checked to be the folder that we came from.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

logger = logging.getLogger(__name__)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_INSIDE = _FOLDER | os.O_NOFOLLOW
_AT_ONCE = 1000  # names kept of a folder that may hold millions
_OURS = 0o700  # without it an owner cannot list, enter or empty a folder
LIMIT_S = 60.0  # some million files; who fills a folder while it is being emptied has all day


def remove_tree(path: Path, limit_s: float = LIMIT_S) -> None:
    """Remove a folder with everything in it, or whatever else has this name; a missing one is fine.

    Goes on past what cannot be removed, then raises the first OSError; TimeoutError is one.
    """
    try:
        parent = os.open(path.parent, _FOLDER)
    except FileNotFoundError:
        return
    removal = _Removal(time.monotonic() + limit_s)
    try:
        removal.remove(path.name, parent)
    finally:
        os.close(parent)
    if removal.error is not None:
        raise removal.error


def discard_tree(path: Path, limit_s: float = LIMIT_S) -> bool:
    """As ``remove_tree``, for clean-up that must not fail the work before it: whatever goes wrong
    is logged. Whether it is gone."""
    try:
        remove_tree(path, limit_s)
    except Exception as error:
        if not os.path.lexists(path):  # somebody else removed it meanwhile
            return True
        is_ours = not isinstance(error, OSError)
        logger.warning("%s is left for the next sweep: %r", path, error, exc_info=is_ours)
        return False
    return True


@contextlib.contextmanager
def temporary_folder(prefix: str = "modeldyno-") -> Iterator[Path]:
    """A folder for a worker; gone at the end, however deep the worker made it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        discard_tree(folder)


def entries(path: Path) -> Iterator[os.stat_result]:
    """Facts of each thing below a folder, read while others may change it.

    Raises OSError when the folder cannot be opened, or is moved while it is being read.
    """
    levels: list[list[str]] = []
    with contextlib.closing(_Descent(os.open(path, _INSIDE))) as descent:
        while True:
            inner: list[str] = []
            with contextlib.suppress(FileNotFoundError), os.scandir(descent.folder) as found:
                for entry in found:
                    with contextlib.suppress(OSError):  # gone since
                        yield entry.stat(follow_symlinks=False)
                        if entry.is_dir(follow_symlinks=False):
                            inner.append(entry.name)
            levels.append(inner)
            while not _enter_one(descent, levels[-1]):
                levels.pop()
                if not levels:
                    return
                descent.leave()


def _enter_one(descent: _Descent, names: list[str]) -> bool:
    while names:
        with contextlib.suppress(OSError):  # gone since, or another user's
            descent.enter(names.pop())
            return True
    return False


class _Descent:
    """A place in a tree: one open folder, and what the folders above it are."""

    def __init__(self, folder: int) -> None:
        self.folder = folder
        self._above: list[tuple[str, tuple[int, int]]] = []

    def enter(self, name: str) -> None:
        inner = _open_folder(name, self.folder)
        self._above.append((name, _identity(self.folder)))
        self._move(inner)

    def leave(self) -> str:
        """Back to the folder above; the name of the one that was left."""
        name, expected = self._above.pop()
        outer = os.open("..", _FOLDER, dir_fd=self.folder)
        if _identity(outer) != expected:
            os.close(outer)
            raise OSError(errno.ESTALE, "a folder was moved while it was being read")
        self._move(outer)
        return name

    def _move(self, folder: int) -> None:
        os.close(self.folder)
        self.folder = folder

    def close(self) -> None:
        os.close(self.folder)


@dataclass
class _Level:
    """What is known of a folder on the way down."""

    folders: list[str] = field(default_factory=list)  # inside it, still to be removed
    stuck: set[str] = field(default_factory=set)  # what could not be removed


class _Removal:
    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s  # on the monotonic clock
        self.error: OSError | None = None

    def remove(self, name: str, parent: int) -> None:
        top = _Level([name] if self._is_folder(name, parent) else [])
        with contextlib.closing(_Descent(os.dup(parent))) as descent:
            levels = [top]
            while len(levels) > 1 or top.folders:
                level = levels[-1]
                if not level.folders and level is not top:
                    level.folders = self._empty(descent.folder, level)
                if level.folders:
                    if self._enter(descent, level):
                        levels.append(_Level())
                    continue
                levels.pop()
                self._rmdir(descent.leave(), descent.folder, levels[-1])

    def _is_folder(self, name: str, parent: int) -> bool:
        """Whether it is; anything else is removed here and now."""
        try:
            if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return True
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._note(error)
        return False

    def _empty(self, folder: int, level: _Level) -> list[str]:
        """Remove the files of a folder; some of the folders in it, none when all is done."""
        while True:
            if time.monotonic() > self._deadline_s:
                raise TimeoutError(errno.ETIMEDOUT, "removing a folder took too long")
            folders: list[str] = []
            has_changed = False
            with os.scandir(folder) as found:
                for entry in found:
                    if entry.name in level.stuck:
                        continue
                    has_changed = True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                        if len(folders) == _AT_ONCE:
                            break
                    else:
                        self._unlink(entry.name, folder, level)
            # Listing and removing at once may skip names: only an uneventful look is the last.
            if folders or not has_changed:
                return folders

    def _enter(self, descent: _Descent, level: _Level) -> bool:
        name = level.folders.pop()
        try:
            descent.enter(name)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._note(error)
            level.stuck.add(name)
            return False
        return True

    def _unlink(self, name: str, folder: int, level: _Level) -> None:
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._note(error)
            level.stuck.add(name)

    def _rmdir(self, name: str, folder: int, level: _Level) -> None:
        try:
            os.rmdir(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._note(error)
            level.stuck.add(name)

    def _note(self, error: OSError) -> None:
        self.error = self.error or error


def _open_folder(name: str, parent: int) -> int:
    """A folder inside another, made ours to list and empty if its owner's rights are missing."""
    try:
        folder = os.open(name, _INSIDE, dir_fd=parent)
    except PermissionError:
        _allow_owner(name, parent)
        return os.open(name, _INSIDE, dir_fd=parent)
    if os.fstat(folder).st_mode & _OURS != _OURS:
        with contextlib.suppress(OSError):  # another user's: what follows says so
            os.fchmod(folder, _OURS)
    return folder


def _allow_owner(name: str, parent: int) -> None:
    if not hasattr(os, "O_PATH"):  # macOS, where chmod itself can leave links alone
        os.chmod(name, _OURS, dir_fd=parent, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(_OURS)
    finally:
        os.close(handle)


def _identity(folder: int) -> tuple[int, int]:
    facts = os.fstat(folder)
    return facts.st_dev, facts.st_ino
