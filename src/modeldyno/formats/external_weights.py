"""Weights files beside a model, checked before anything opens them.

Their locations come from an untrusted file. They may name only regular files in the model's own
folder; otherwise a model could make an engine read ``/etc/shadow`` as weights.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import ExternalFile
from modeldyno.formats.file_reading import hash_file
from modeldyno.formats.refusals import printable_name

_LFS_POINTER = b"version https://git-lfs"


def check_weights_files(
    path: Path, needed: Mapping[str, tuple[int, str]], may_be_missing: bool
) -> tuple[tuple[ExternalFile, ...], tuple[str, ...]]:
    """The files at the ``needed`` locations, and the locations of missing ones.

    With each location, the bytes that the file must have at least, and the tensor that needs them.
    Raises UnsafeFormat or ModelUnreadable for files that cannot be used, and for missing files
    unless they ``may_be_missing``.
    """
    missing = tuple(f for f in needed if may_be_missing and not weights_exist(path, f))
    files = (_check_weights_file(path, f, *needed[f]) for f in needed if f not in missing)
    return tuple(files), missing


def weights_exist(path: Path, location: str) -> bool:
    """Whether there is anything at that location, usable or not."""
    return os.path.lexists(path.parent / location)


def outside_folder_error(path: Path, location: str, why: str) -> UnsafeFormat:
    return UnsafeFormat(
        f"{printable_name(path)} keeps weights outside its own folder",
        why=f"it names the file {location[:200]!r}; {why}",
        fix="Put the model and its weights into one folder and export again, or copy both there "
        "with `cp -L`",
    )


def _check_weights_file(path: Path, location: str, end: int, tensor: str) -> ExternalFile:
    file = path.parent / location
    try:
        real = file.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError) as error:
        raise _missing_error(path, location) from error
    _refuse_links(path, location, real, status.st_nlink)
    if not stat.S_ISREG(status.st_mode):
        raise _missing_error(path, location)
    if end > status.st_size:
        raise _truncated_error(path, location, real, f"tensor {tensor!r} ends at byte {end}")
    return ExternalFile(location, status.st_size, hash_file(real))


def _refuse_links(path: Path, location: str, real: Path, links: int) -> None:
    """Links within the folder are allowed: model caches link to both files alike."""
    homes = (path.parent.resolve(), path.resolve().parent)
    if not any(real.is_relative_to(home) for home in homes):
        raise outside_folder_error(path, location, "that is a link to another folder")
    if links > 1:
        raise outside_folder_error(
            path, location, "that file has a second name (a hard link) somewhere else"
        )


def _missing_error(path: Path, location: str) -> ModelUnreadable:
    return ModelUnreadable(
        f"{printable_name(path)} needs the weights file {location!r}, which is missing",
        why="the model keeps its weights in a separate file",
        fix=f"Put {location!r} into the folder of the model",
    )


def _truncated_error(path: Path, location: str, real: Path, why: str) -> ModelUnreadable:
    size = real.stat().st_size
    with real.open("rb") as file:
        is_pointer = file.read(len(_LFS_POINTER)) == _LFS_POINTER
    if is_pointer:
        return ModelUnreadable(
            f"The weights file {location!r} of {printable_name(path)} is a Git LFS pointer",
            why="the repository was cloned without Git LFS",
            fix="Run `git lfs pull` in the repository it comes from",
        )
    return ModelUnreadable(
        f"The weights file {location!r} of {printable_name(path)} is truncated",
        why=f"{why}, the file has {size} bytes",
        fix="Copy, download or export it again",
    )
