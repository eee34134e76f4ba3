"""TFRecord files, and the ``tf.train.Example`` messages in them, without TensorFlow.

A record is its length (8 bytes), a masked CRC-32C of these, its bytes, and a CRC of those.
"""

from __future__ import annotations

import fnmatch
import os
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.crc32c import masked_crc32c
from modeldyno.datasets.readers.files import (
    LARGEST_SAMPLE,
    Folder,
    damaged,
    open_folder,
    open_location,
)
from modeldyno.datasets.readers.samples import LazySamples, samples_of

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_GZIP, _ZLIB = b"\x1f\x8b", (b"\x78\x01", b"\x78\x9c", b"\x78\xda")


class Record(NamedTuple):
    content: bytes
    name: str  # for messages: "record 3 of FILE"


@dataclass(frozen=True)
class Records:
    """The records of several files, in order; read by number."""

    folder: Folder
    names: tuple[str, ...]
    places: tuple[array[int], ...]  # of each file: where each record's bytes begin

    def __len__(self) -> int:
        return sum(map(len, self.places))

    def __getitem__(self, number: int) -> Record:
        number = range(len(self))[number]
        for name, places in zip(self.names, self.places, strict=True):
            if number < len(places):
                return self._read(name, number, places[number])
            number -= len(places)
        raise IndexError(number)

    def _read(self, name: str, number: int, place: int) -> Record:
        title = f"record {number + 1} of {name}"
        with self.folder.open(name) as file:
            file.seek(place - _HEADER.size)
            length, _ = _HEADER.unpack(file.read(_HEADER.size))
            content, crc = file.read(length), file.read(_CRC.size)
        if len(content) < length or len(crc) < _CRC.size:
            raise damaged(title, why="the file was cut off")
        if _CRC.unpack(crc)[0] != masked_crc32c(content):
            raise damaged(title, why="its checksum (CRC-32C) is wrong: bytes of it have changed")
        return Record(content, title)


def find_records(folder: Folder, names: Sequence[str]) -> Records:
    return Records(folder, tuple(names), tuple(_index(folder, name) for name in names))


def _index(folder: Folder, name: str) -> array[int]:
    places = array("Q")
    with folder.open(name) as file:
        end = file.seek(0, os.SEEK_END)
        place = 0
        while place < end:
            file.seek(place)
            header = file.read(_HEADER.size)
            title = f"record {len(places) + 1} of {name}"
            if place == 0 and header.startswith((_GZIP, *_ZLIB)) and not _is_sound(header):
                raise damaged(name, why="it is compressed", fix="Decompress it first: gunzip")
            if len(header) < _HEADER.size:
                raise damaged(title, why="the file was cut off")
            if not _is_sound(header):
                raise damaged(
                    title,
                    why="the checksum (CRC-32C) of its length is wrong: the file is damaged, or "
                    "not in the TFRecord format",
                )
            length, _ = _HEADER.unpack(header)
            if length > min(end - place, LARGEST_SAMPLE):
                raise damaged(title, why=f"it has {length} bytes, more than the file")
            places.append(place + _HEADER.size)
            place += _HEADER.size + length + _CRC.size
    if place != end:
        raise damaged(f"record {len(places)} of {name}", why="the file was cut off")
    return places


def _is_sound(header: bytes) -> bool:
    return len(header) == _HEADER.size and _HEADER.unpack(header)[1] == masked_crc32c(header[:8])


def find_record_files(root: str, pattern: str) -> tuple[Folder, list[str]]:
    """Files of a folder whose names match; ``root`` may be such a file as well."""
    folder, name = open_location(root, "root")
    return folder, fnmatch.filter(folder.files(), pattern) if name is None else [name]


def record_samples(
    folder: Folder, names: Sequence[str], read: Callable[[Record], Sample], pattern: str
) -> LazySamples:
    return samples_of(
        find_records(folder, names),
        read,
        why=f"no file with records is named {pattern}" if not names else "no record in any file",
        fix="Set root to the folder of the files, or to one of them",
    )


@dataclass(frozen=True, kw_only=True)
class TFRecordDataset:
    """Records as they are: one input, the bytes in uint8. ``root`` is a file, a folder, or a
    pattern such as ``folder/*.tfrecord``."""

    root: str = ""

    def open(self) -> LazySamples:
        pattern = Path(self.root).name
        if any(mark in pattern for mark in "*?["):
            folder = open_folder(str(Path(self.root).parent), "root")
            names = fnmatch.filter(folder.files(), pattern)
        else:
            folder, names = find_record_files(self.root, "*")

        def read(record: Record) -> Sample:
            return Sample((np.frombuffer(record.content, np.uint8),))

        return record_samples(folder, names, read, pattern)


# ---------------------------------------------------------------- tf.train.Example


class Example:
    """The features of one example, by name; raises DatasetUnreadable for what is not there."""

    def __init__(self, record: Record) -> None:
        self.name = record.name
        try:
            self._features = dict(_read_features(memoryview(record.content)))
        except (ValueError, IndexError, struct.error) as error:
            raise damaged(record.name, why=f"it is no tf.train.Example: {error}") from error

    def __contains__(self, key: str) -> bool:
        return len(self._features.get(key, ())) > 0

    def content(self, key: str) -> bytes:
        return bytes(self._first(key, bytes))

    def integer(self, key: str) -> int:
        return int(self._first(key, int))

    def texts(self, key: str) -> list[str]:
        values = self._features.get(key, [])
        if not all(isinstance(value, bytes) for value in values):
            raise self._wrong_type(key, "text")
        return [value.decode("utf-8", "replace") for value in values]

    def numbers(self, key: str, dtype: str) -> np.ndarray[Any, Any]:
        values = self._features.get(key, [])
        if any(isinstance(value, bytes) for value in values):
            raise self._wrong_type(key, "numbers")
        return np.array(values, dtype)

    def _first(self, key: str, type: type) -> Any:
        values = self._features.get(key, ())
        if len(values) != 1:
            raise DatasetUnreadable(
                f"Cannot read {self.name}",
                why=f"it has {len(values)} values of {key!r} where one is needed",
                fix="Write the records again with it, or choose another kind of dataset",
            )
        if not isinstance(values[0], type):
            raise self._wrong_type(key, "bytes" if type is bytes else "a whole number")
        return values[0]

    def _wrong_type(self, key: str, wanted: str) -> DatasetUnreadable:
        return damaged(
            self.name, why=f"{key!r} must be {wanted}", fix="Write the records again with that type"
        )


def _read_features(message: memoryview) -> Iterator[tuple[str, list[Any]]]:
    for number, features in _fields(message):
        if number != 1:
            continue
        for _, entry in _fields(_require_bytes(features)):
            key, values = "", []
            for field, content in _fields(_require_bytes(entry)):
                if field == 1:
                    key = bytes(_require_bytes(content)).decode()
                elif field == 2:
                    values = list(_read_values(_require_bytes(content)))
            yield key, values


def _read_values(feature: memoryview) -> Iterator[Any]:
    """A feature is a list of bytes (1), floats (2) or integers (3); numbers may be packed."""
    for kind, values in _fields(feature):
        for _, value in _fields(_require_bytes(values)):
            if kind == 1:
                yield bytes(_require_bytes(value))
            elif kind == 2:
                yield from np.frombuffer(_require_bytes(value), "<f4").tolist()
            elif kind == 3 and isinstance(value, int):
                yield _to_signed(value)
            elif kind == 3:
                packed, place = _require_bytes(value), 0
                while place < len(packed):
                    integer, place = _read_varint(packed, place)
                    yield _to_signed(integer)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Number and content; a single float comes as its four bytes."""
    place = 0
    while place < len(message):
        tag, place = _read_varint(message, place)
        wire = tag & 7
        if wire == 0:
            value, place = _read_varint(message, place)
            yield tag >> 3, value
            continue
        if wire == 2:
            length, place = _read_varint(message, place)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"a field of type {wire}")
        if length > len(message) - place:
            raise ValueError("a field longer than its message")
        yield tag >> 3, message[place : place + length]
        place += length


def _read_varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
    raise ValueError("a number of more than 64 bits")


def _to_signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _require_bytes(value: memoryview | int) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number where a message should be")  # noqa: TRY004
    return value
