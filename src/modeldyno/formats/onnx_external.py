"""Files beside an ONNX model that hold its weights: checked before anybody opens them.

A location is a string in a file from a stranger. It may name only regular files in the model's
own folder: otherwise a model could make an engine read ``/etc/shadow`` as weights.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import ExternalFile
from modeldyno.formats.digest import sha256
from modeldyno.formats.onnx_types import bits
from modeldyno.formats.refusals import shown

if TYPE_CHECKING:
    from onnx import TensorProto

_KEYS = ("location", "offset", "length", "checksum", "basepath")
# ONNX Runtime's own sign for "the offset is an address in memory"; no file is called that.
_MEMORY_ADDRESS = "_ORT_MEM_ADDR_"
_LFS_POINTER = b"version https://git-lfs"


def external_files(
    path: Path, tensors: Iterable[TensorProto], may_be_missing: bool = False
) -> tuple[tuple[ExternalFile, ...], tuple[str, ...]]:
    """Every external file once, and the locations at which there is none.

    Raises UnsafeFormat or ModelUnreadable for what cannot be used; a file that is not there is
    unreadable, too, unless it ``may_be_missing``.
    """
    needed: dict[str, tuple[int, str]] = {}  # location → bytes it must have, and for which tensor
    for tensor in tensors:
        if tensor.data_location or tensor.external_data:
            location, end = _place(path, tensor)
            needed[location] = max(needed.get(location, (0, "")), (end, tensor.name))
    missing = {place for place in needed if may_be_missing and not _is_there(path, place)}
    found = (_checked(path, place, *needed[place]) for place in sorted(needed.keys() - missing))
    return tuple(found), tuple(sorted(missing))


def _is_there(path: Path, location: str) -> bool:
    """Something is: whether it can be used is another question."""
    return os.path.lexists(path.parent / location)


def _place(path: Path, tensor: TensorProto) -> tuple[str, int]:
    """Where a tensor lies: its file, and the offset at which it ends."""
    entries = _entries(path, tensor)
    location = entries.get("location", "")
    _refuse_escape(path, location)
    offset = _number(path, tensor, entries.get("offset", "0"))
    length = _number(path, tensor, entries.get("length", "0")) or _declared_bytes(tensor)
    return location, offset + length


def _entries(path: Path, tensor: TensorProto) -> dict[str, str]:
    """What the tensor says about its place. Of a key given twice, readers believe either one."""
    keys = [entry.key for entry in tensor.external_data]
    strange = [key for key in keys if key not in _KEYS or keys.count(key) > 1]
    if strange or any(size < 0 for size in tensor.dims):
        why = f"the entry {strange[0][:40]!r}" if strange else f"the shape {list(tensor.dims)}"
        raise ModelUnreadable(
            f"{shown(path)} is damaged",
            why=f"{why} makes no sense for tensor {tensor.name!r}, whose weights lie in a file",
            fix="Export the model again",
        )
    return {entry.key: entry.value for entry in tensor.external_data}


def _number(path: Path, tensor: TensorProto, text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 20:
        return int(text)
    raise ModelUnreadable(
        f"{shown(path)} is damaged",
        why=f"the place of tensor {tensor.name!r} in its weights file is {text[:40]!r}, "
        "which is no number of bytes",
        fix="Export the model again",
    )


def _declared_bytes(tensor: TensorProto) -> int:
    elements = int(math.prod(tensor.dims))
    return (elements * bits(tensor.data_type) + 7) // 8


def _refuse_escape(path: Path, location: str) -> None:
    windows = PureWindowsPath(location)  # its rules also split at the other slash
    absolute = windows.anchor or PurePosixPath(location).is_absolute()
    escapes = absolute or ".." in windows.parts or _MEMORY_ADDRESS in location
    if not location or "\0" in location or escapes:
        raise _outside(path, location, "it must be a relative path without `..`")


def _outside(path: Path, location: str, why: str) -> UnsafeFormat:
    return UnsafeFormat(
        f"{shown(path)} keeps weights outside its own folder",
        why=f"it names the file {location[:200]!r}; {why}",
        fix="Put the model and its weights into one folder and export again, or copy both there "
        "with `cp -L`",
    )


def _checked(path: Path, location: str, end: int, tensor: str) -> ExternalFile:
    file = path.parent / location
    try:
        real = file.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError) as error:
        raise _missing(path, location) from error
    _refuse_links(path, location, real, status.st_nlink)
    if not stat.S_ISREG(status.st_mode):
        raise _missing(path, location)
    if end > status.st_size:
        raise _too_short(path, location, real, f"tensor {tensor!r} ends at byte {end}")
    return ExternalFile(location, status.st_size, sha256(real))


def _refuse_links(path: Path, location: str, real: Path, links: int) -> None:
    """A link may stay inside the folder; caches that link the model itself keep both together."""
    homes = (path.parent.resolve(), path.resolve().parent)
    if not any(real.is_relative_to(home) for home in homes):
        raise _outside(path, location, "that is a link to another folder")
    if links > 1:
        raise _outside(path, location, "that file has a second name (a hard link) somewhere else")


def _missing(path: Path, location: str) -> ModelUnreadable:
    return ModelUnreadable(
        f"{shown(path)} needs the weights file {location!r}, which is not there",
        why="the model keeps its weights in a file of their own",
        fix=f"Put {location!r} into the folder of the model",
    )


def _too_short(path: Path, location: str, real: Path, why: str) -> ModelUnreadable:
    size = real.stat().st_size
    with real.open("rb") as file:
        is_pointer = file.read(len(_LFS_POINTER)) == _LFS_POINTER
    if is_pointer:
        return ModelUnreadable(
            f"The weights file {location!r} of {shown(path)} is a Git LFS pointer",
            why="the repository was cloned without Git LFS",
            fix="Run `git lfs pull` in the repository it comes from",
        )
    return ModelUnreadable(
        f"The weights file {location!r} of {shown(path)} is truncated",
        why=f"{why}, the file has {size} bytes",
        fix="Copy, download or export it again",
    )
