"""Which files beside an ONNX model hold its weights: where it says so, and how far they reach."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import ExternalFile
from modeldyno.formats.external_weights import checked, is_there, outside
from modeldyno.formats.onnx.types import bits
from modeldyno.formats.refusals import shown

if TYPE_CHECKING:
    from onnx import TensorProto

_KEYS = ("location", "offset", "length", "checksum", "basepath")
# ONNX Runtime's own sign for "the offset is an address in memory"; no file is called that.
_MEMORY_ADDRESS = "_ORT_MEM_ADDR_"


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
    missing = {place for place in needed if may_be_missing and not is_there(path, place)}
    found = (checked(path, place, *needed[place]) for place in sorted(needed.keys() - missing))
    return tuple(found), tuple(sorted(missing))


def _place(path: Path, tensor: TensorProto) -> tuple[str, int]:
    """Where a tensor lies: its file, and the offset at which it ends."""
    entries = _entries(path, tensor)
    location = entries.get("location", "")
    _refuse_escape(path, location)
    _refuse_itself(path, location, tensor)
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
        raise outside(path, location, "it must be a relative path without `..`")


def _refuse_itself(path: Path, location: str, tensor: TensorProto) -> None:
    """Its own bytes would be taken for weights, and it is copied under another name."""
    if os.path.realpath(path.parent / location) != os.path.realpath(path):
        return
    raise ModelUnreadable(
        f"{shown(path)} names itself as the file of its weights",
        why=f"tensor {tensor.name!r} is said to lie in {location[:200]!r}, which is the model "
        "itself; weights outside of a model lie in a file beside it",
        fix="Export the model again, with its weights inside, or in a file of another name",
    )
