"""Files of a dataset. Nothing outside its folder is opened, and only regular files are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.core.visible import visible

LARGEST_SAMPLE = 1 << 30  # bytes; a header that says more is damaged or hostile
_LONGEST_TEXT = 1 << 30  # bytes of annotations or questions, which are read as a whole
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True)
class Folder:
    path: Path  # no link on the way

    def open(self, name: str) -> BinaryIO:
        """Raises DatasetUnreadable if it is not a regular file inside."""
        path = self.resolve(name)
        try:
            file = os.fdopen(os.open(path, _FLAGS), "rb")
        except OSError as error:
            raise damaged(name, why=error.strerror or str(error)) from error
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise damaged(name, why="it is not a regular file")
        return file

    def read_text(self, name: str) -> str:
        with self.open(name) as file:
            content = file.read(_LONGEST_TEXT + 1)
        if len(content) > _LONGEST_TEXT:
            raise damaged(name, why=f"it has more than {_LONGEST_TEXT >> 20} MiB")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise damaged(name, why=f"it is not text in UTF-8: {error.reason}") from error

    def resolve(self, name: str) -> Path:
        """Where a name leads; raises DatasetUnreadable if that is outside."""
        try:
            path = Path(os.path.realpath(self.path / name))
        except ValueError as error:  # a zero byte
            raise damaged(name, why=str(error)) from error
        if not path.is_relative_to(self.path):
            raise DatasetUnreadable(
                f"{visible(name)} leads out of the dataset's folder",
                why="nothing outside it is read, so that a dataset cannot show files of yours",
                fix="Copy what it leads to into the folder",
            )
        return path

    def has(self, name: str) -> bool:
        return self.resolve(name).is_file()

    def subfolder(self, name: str) -> Folder:
        path = self.resolve(name)
        if not path.is_dir():
            raise missing(f"There is no folder {visible(name)} in {visible(self.path.name)}")
        return Folder(path)

    def folders(self) -> list[str]:
        """Names in order, without hidden ones."""
        return [name for name, is_folder in self._entries() if is_folder]

    def files(self) -> list[str]:
        """Names in order, without hidden ones."""
        return [name for name, is_folder in self._entries() if not is_folder]

    def _entries(self) -> Iterator[tuple[str, bool]]:
        try:
            with os.scandir(self.path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            raise damaged(self.path.name, why=error.strerror or str(error)) from error
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                self.resolve(entry.name)
            yield entry.name, entry.is_dir()


def open_folder(path: str, parameter: str) -> Folder:
    """The folder that a parameter names; raises BadValue if there is none."""
    real = _real_path(path, parameter)
    if not real.is_dir():
        raise BadValue(
            f"{parameter} must be a folder",
            why=f'"{visible(path)}" is a file' if real.exists() else f'no "{visible(path)}"',
            fix=f"Set {parameter} to the folder of the dataset",
        )
    return Folder(real)


def open_location(path: str, parameter: str) -> tuple[Folder, str | None]:
    """The folder that a parameter names; or the file, and the folder that it is in."""
    real = _real_path(path, parameter)
    if real.is_dir():
        return Folder(real), None
    if not real.exists():
        raise BadValue(
            f'There is no "{visible(path)}"', fix=f"Set {parameter} to a file or folder that exists"
        )
    return Folder(real.parent), real.name


def open_file(path: str, parameter: str) -> tuple[Folder, str]:
    folder, name = open_location(path, parameter)
    if name is None:
        raise BadValue(
            f"{parameter} must be a file",
            why=f'"{visible(path)}" is a folder',
            fix=f"Set {parameter} to one of the files in it",
        )
    return folder, name


def _real_path(path: str, parameter: str) -> Path:
    if not path:
        raise BadValue(
            f"{parameter} is empty", fix=f"Set {parameter} to where the dataset is on this machine"
        )
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise BadValue(f"{parameter} is no path", why=str(error), fix="Check it") from error


def require_no_download(download: bool, name: str, fix: str) -> None:
    if download:
        raise BadValue(
            f"{name} cannot be downloaded",
            why="Modeldyno never fetches datasets, so that a number depends on files you have",
            fix=f"{fix}, and set download to false",
        )


def damaged(
    name: str, *, why: str, fix: str = "Copy or download it again, or remove it"
) -> DatasetUnreadable:
    return DatasetUnreadable(f"Cannot read {visible(name)}", why=why, fix=fix)


def missing(title: str, *, why: str = "", fix: str = "Check the path") -> DatasetUnreadable:
    return DatasetUnreadable(title, why=why, fix=fix)
