"""Protobuf: the outermost fields of a file without their content, and messages in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.refusals import shown


class Wire(IntEnum):
    """How a field is written. Groups (3 and 4) are missing: nobody writes them any more."""

    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5


_WIRES = {int(wire): wire for wire in Wire}
_FIXED_BYTES = {Wire.FIXED64: 8, Wire.FIXED32: 4}
_LARGEST = 2**31 - 1  # bytes that protobuf itself can read
_LONGEST_VARINT = 10
_LONGEST_HEADER = 2 * _LONGEST_VARINT  # a tag and a length
# A hostile file of a billion two-byte fields would keep us busy for an hour; the largest real
# model we know has a few thousand fields at the top.
_MOST_FIELDS = 1_000_000


@dataclass(frozen=True)
class Field:
    number: int
    wire: Wire
    start: int  # of the payload, in the file
    length: int  # of the payload, as declared
    value: int = 0  # of a varint


class DamagedMessage(Exception):
    """Not what protobuf writes."""


class TruncatedField(DamagedMessage):
    """The file ends inside a field."""

    def __init__(
        self,
        field: Field | None,
        available: int,
        rest: tuple[int, memoryview] | None = None,
    ) -> None:
        super().__init__("the file ends inside a field")
        self.field = field  # None: inside a tag or a number
        self.available = available  # bytes of the field that are there
        self.rest = rest  # of ``values``: the field's number, and these bytes


class NotProtobuf(DamagedMessage):
    """These bytes are not protobuf."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"not protobuf at byte {offset}")
        self.offset = offset


def require_protobuf_size(path: Path, kind: str, fix: str) -> None:
    size = path.stat().st_size
    if size > _LARGEST:
        raise ModelUnreadable(
            f"{shown(path)} is too large for one {kind}",
            why=f"it has {size} bytes, and protobuf cannot read more than {_LARGEST}",
            fix=fix,
        )


def fields(file: BinaryIO, start: int, end: int) -> Iterator[Field]:
    """Every field between two offsets; raises DamagedMessage where they stop making sense."""
    position = start
    for _ in range(_MOST_FIELDS):
        if position == end:
            return
        field = _field(file, position, end)
        position = field.start + field.length
        if position > end:
            raise TruncatedField(field, end - field.start)
        yield field
    raise NotProtobuf(position)


def _field(file: BinaryIO, position: int, end: int) -> Field:
    file.seek(position)
    header = file.read(min(_LONGEST_HEADER, end - position))
    tag, used = _varint(header, 0, position)
    number, wire = tag >> 3, _WIRES.get(tag & 7)
    if number == 0 or wire is None:
        raise NotProtobuf(position)
    if wire in _FIXED_BYTES:
        return Field(number, wire, position + used, _FIXED_BYTES[wire])
    value, after = _varint(header, used, position)
    if wire is Wire.VARINT:
        return Field(number, wire, position + used, after - used, value)
    return Field(number, wire, position + after, value)


def _varint(data: bytes, at: int, offset: int) -> tuple[int, int]:
    """The number at ``data[at:]`` and where the next byte is."""
    value = 0
    for index, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    if len(data) - at >= _LONGEST_VARINT:
        raise NotProtobuf(offset)
    raise TruncatedField(None, len(data))


# ---------------------------------------------------------------- messages in memory


def values(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Every field of a message: its number, and its value (a number, or the bytes it holds).

    Fixed numbers come as their bits, unsigned. Raises TruncatedField or NotProtobuf.
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = _number(data, position, end)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise NotProtobuf(position)
        if wire == Wire.VARINT:
            value, position = _number(data, position, end)
            yield number, value
            continue
        if wire == Wire.BYTES:
            length, position = _number(data, position, end)
        elif wire in _FIXED_LENGTHS:
            length = _FIXED_LENGTHS[wire]
        else:
            raise NotProtobuf(position)
        if length > end - position:
            raise TruncatedField(None, end - position, (number, data[position:]))
        held = data[position : position + length]
        position += length
        yield number, held if wire == Wire.BYTES else int.from_bytes(held, "little")


_FIXED_LENGTHS = {int(wire): length for wire, length in _FIXED_BYTES.items()}


def packed(data: memoryview) -> Iterator[int]:
    """Numbers written one after the other; raises TruncatedField or NotProtobuf."""
    position, end = 0, len(data)
    while position < end:
        value, position = _number(data, position, end)
        yield value


def signed(value: int) -> int:
    """An int64 as protobuf writes it."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _number(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MOST_NUMBER, at
        shift += 7
        if shift >= 7 * _LONGEST_VARINT:
            raise NotProtobuf(at)
    raise TruncatedField(None, 0)


_MOST_NUMBER = (1 << 64) - 1
