"""Walk and remove folders that untrusted code could write to.

That code decides how deep and how full they are. So nothing here recurses, joins paths or keeps a
descriptor for each level: one folder is open at a time, links are never followed, and the way back
up is ``..``, checked to be the folder that we came from.
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
AT_ONCE = 1000  # names kept of a folder that may hold millions
_OURS = 0o700  # without it an owner cannot list, enter or empty a folder
LIMIT_S = (
    60.0  # enough for some million files; another process may fill the folder while we empty it
)


def remove_tree(path: Path, limit_s: float = LIMIT_S, at_once: int = AT_ONCE) -> None:
    """Remove a folder with everything in it, or whatever else has this name; it may be missing.

    Skips what cannot be removed, then raises the first OSError; TimeoutError is one.
    """
    try:
        parent = os.open(path.parent, _FOLDER)
    except FileNotFoundError:
        return
    removal = _Removal(time.monotonic() + limit_s, at_once)
    try:
        removal.remove(path.name, parent)
    finally:
        os.close(parent)
    if removal.error is not None:
        raise removal.error


def discard_tree(path: Path, limit_s: float = LIMIT_S) -> bool:
    """Like ``remove_tree``, but errors are logged: clean-up must not fail the work before it.
    Returns whether the folder is gone."""
    try:
        remove_tree(path, limit_s)
    except Exception as error:
        if not os.path.lexists(path):  # it was removed meanwhile
            return True
        is_ours = not isinstance(error, OSError)
        logger.warning("%s is left for the next sweep: %r", path, error, exc_info=is_ours)
        return False
    return True


@contextlib.contextmanager
def temporary_folder(prefix: str = "modeldyno-") -> Iterator[Path]:
    """A folder for a worker, removed at the end however deep the worker made it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        discard_tree(folder)


def entries(path: Path) -> Iterator[os.stat_result]:
    """The stat result of everything below a folder, which may change meanwhile.

    Raises OSError if the folder cannot be opened, or is moved while it is being read.
    """
    levels: list[list[str]] = []
    with contextlib.closing(_Descent(os.open(path, _INSIDE))) as descent:
        while True:
            inner: list[str] = []
            with contextlib.suppress(FileNotFoundError), os.scandir(descent.folder) as listing:
                for entry in listing:
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
    """A position in a tree: one open folder, and the identity of each folder above it."""

    def __init__(self, folder: int) -> None:
        self.folder = folder
        self._above: list[tuple[str, tuple[int, int]]] = []

    def enter(self, name: str) -> None:
        inner = _open_folder(name, self.folder)
        self._above.append((name, _folder_identity(self.folder)))
        self._move(inner)

    def leave(self) -> str:
        """Back to the folder above; returns the name of the one that was left."""
        name, expected = self._above.pop()
        outer = os.open("..", _FOLDER, dir_fd=self.folder)
        if _folder_identity(outer) != expected:
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
    """A folder on the way down."""

    folders: list[str] = field(default_factory=list)  # inside it, still to be removed
    stuck: set[str] = field(default_factory=set)  # what could not be removed


class _Removal:
    def __init__(self, deadline_s: float, at_once: int) -> None:
        self._deadline_s = deadline_s  # on the monotonic clock
        self._at_once = at_once
        self.error: OSError | None = None  # the first

    def remove(self, name: str, parent: int) -> None:
        top = _Level()
        if self._is_folder(name, parent, top):
            top.folders.append(name)
        with contextlib.closing(_Descent(os.dup(parent))) as descent:
            levels = [top]
            while len(levels) > 1 or top.folders:
                level = levels[-1]
                if not level.folders and level is not top:
                    level.folders = self._delete_content(descent.folder, level)
                if level.folders:
                    name = level.folders.pop()
                    with self._recording_errors(name, level):
                        descent.enter(name)
                        levels.append(_Level())
                    continue
                levels.pop()
                name, level = descent.leave(), levels[-1]
                with self._recording_errors(name, level):
                    os.rmdir(name, dir_fd=descent.folder)

    def _is_folder(self, name: str, parent: int, level: _Level) -> bool:
        """Anything else is removed right away."""
        with self._recording_errors(name, level):
            if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return True
            os.unlink(name, dir_fd=parent)
        return False

    def _delete_content(self, folder: int, level: _Level) -> list[str]:
        """Remove the files of a folder; returns some of its folders, none once it is empty."""
        while True:
            if time.monotonic() > self._deadline_s:
                raise TimeoutError(errno.ETIMEDOUT, "removing a folder took too long")
            folders: list[str] = []
            has_changed = False
            with os.scandir(folder) as listing:
                for entry in listing:
                    if entry.name in level.stuck:
                        continue
                    has_changed = True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                        if len(folders) == self._at_once:
                            break
                    else:
                        with self._recording_errors(entry.name, level):
                            os.unlink(entry.name, dir_fd=folder)
            # Removing while listing may skip names: only a listing without changes is complete.
            if folders or not has_changed:
                return folders

    @contextlib.contextmanager
    def _recording_errors(self, name: str, level: _Level) -> Iterator[None]:
        """A name that is gone is fine; one that cannot be removed is skipped from here on."""
        try:
            yield
        except FileNotFoundError:
            pass
        except OSError as error:
            self.error = self.error or error
            level.stuck.add(name)


def _open_folder(name: str, parent: int) -> int:
    """Open an inner folder; its owner's missing rights are restored first, so we can empty it."""
    try:
        folder = os.open(name, _INSIDE, dir_fd=parent)
    except PermissionError:
        _give_owner_access(name, parent)
        return os.open(name, _INSIDE, dir_fd=parent)
    if os.fstat(folder).st_mode & _OURS != _OURS:
        with contextlib.suppress(OSError):  # another user's: what follows says so
            os.fchmod(folder, _OURS)
    return folder


def _give_owner_access(name: str, parent: int) -> None:
    if not hasattr(os, "O_PATH"):  # macOS, where chmod itself can leave links alone
        os.chmod(name, _OURS, dir_fd=parent, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(_OURS)
    finally:
        os.close(handle)


def _folder_identity(folder: int) -> tuple[int, int]:
    facts = os.fstat(folder)
    return facts.st_dev, facts.st_ino
