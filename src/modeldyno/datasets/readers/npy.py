"""Arrays of NumPy (.npy, .npz), a sample at a time. Pickled objects are never loaded."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import numpy as np

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.core.visible import visible
from modeldyno.datasets.readers.files import LARGEST_SAMPLE, Folder, damaged
from modeldyno.datasets.readers.inflated import DEFLATE, Inflated

Array = np.ndarray[Any, Any]

# What zipfile, zlib and NumPy's parser of headers raise for bytes that they do not expect.
DAMAGES = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, OverflowError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
_KINDS = "biufU"  # booleans, integers, floats, text


@dataclass(frozen=True)
class Stored:
    """An array in a file, alone or in a zip archive."""

    folder: Folder
    file: str
    name: str  # for messages
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    start: int  # of its values, in the file or in what comes out of ``inflated``
    inflated: Inflated | None = None

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> Array:
        """One entry along the first dimension."""
        row = range(len(self))[row]
        if self.is_fortran:
            entry: Array = self._whole[row].copy()
            return entry
        content = self._read(self.start + row * self.row_bytes, self.row_bytes)
        values: Array = np.frombuffer(content, self.dtype).reshape(self.shape[1:])
        return values

    @cached_property
    def _whole(self) -> Array:
        """In Fortran order, samples are not one after the other."""
        return self.read()

    def read(self) -> Array:
        """All of it."""
        order: Any = "F" if self.is_fortran else "C"
        values = np.frombuffer(self._read(self.start, self.row_bytes * len(self)), self.dtype)
        return values.reshape(self.shape, order=order)

    def _read(self, start: int, size: int) -> bytearray:
        if size > LARGEST_SAMPLE:
            raise damaged(
                self.name,
                why=f"{size >> 20} MiB of it would have to be in memory at once",
                fix="Store it in C order (np.ascontiguousarray), samples along the first dimension",
            )
        try:
            if self.inflated is not None:
                content = self.inflated.read(start, size)
            else:
                with self.folder.open(self.file) as file:
                    file.seek(start)
                    content = file.read(size)
        except DAMAGES as error:
            raise damaged(self.name, why=str(error)) from error
        if len(content) < size:
            raise damaged(self.name, why="the file was cut off")
        return bytearray(content)  # so that a transform may write into the array


def read_npy(folder: Folder, name: str) -> Array:
    return open_npy(folder, name).read()


def open_npy(folder: Folder, name: str) -> Stored:
    try:
        with folder.open(name) as file:
            header = _parse_header(file, os.fstat(file.fileno()).st_size, name)
    except DAMAGES as error:
        raise damaged(name, why=f"it is no .npy file: {error}") from error
    return Stored(folder, name, name, *header)


def open_npz(folder: Folder, name: str) -> dict[str, Stored]:
    """Its arrays by name; no values are read."""
    try:
        with folder.open(name) as file, zipfile.ZipFile(file) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
            return {
                member.filename.removesuffix(".npy"): _open_member(folder, name, archive, member)
                for member in members
            }
    except DAMAGES as error:
        raise damaged(name, why=f"it is no .npz file: {error}") from error


def _open_member(
    folder: Folder, name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> Stored:
    title = f"{visible(member.filename)} in {name}"
    with archive.open(member) as inside:
        shape, dtype, is_fortran, start = _parse_header(inside, member.file_size, title)
    file: Any = archive.fp
    # After a header of 30 bytes, a name and more, whose lengths the archive's list does not say.
    file.seek(member.header_offset + 26)
    lengths = struct.unpack("<HH", file.read(4))
    place = member.header_offset + 30 + sum(lengths)
    inflated = None
    if member.compress_type == zipfile.ZIP_DEFLATED:
        inflated = Inflated(folder, name, place, DEFLATE, member.CRC)
    elif member.compress_type == zipfile.ZIP_STORED:
        start += place
    else:
        raise ValueError("it is compressed in a way that np.savez_compressed does not use")
    return Stored(folder, name, title, shape, dtype, is_fortran, start, inflated)


def _parse_header(
    file: IO[bytes], size: int, title: str
) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Shape, type, whether in Fortran order, and where the values begin."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version[0]} of its format is for records with named fields")
    read_header: Any = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
    shape, is_fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise DatasetUnreadable(
            f"{title} holds Python objects",
            why="loading these could run code hidden in them",
            fix='Store numbers or text instead: np.array(values, dtype="float32")',
        )
    if dtype.kind not in _KINDS:
        raise DatasetUnreadable(
            f"{title} has values of type {dtype}",
            why="a model takes booleans, integers, floats or text",
            fix='Convert it first: array.astype("float32")',
        )
    if any(length < 0 for length in shape):
        raise ValueError("a size of it is below 0")
    start = file.tell()
    expected = start + math.prod(shape) * dtype.itemsize
    if expected > size:
        raise ValueError(f"it should have {expected} bytes, and has {size}: it was cut off")
    return shape, dtype, is_fortran, start
