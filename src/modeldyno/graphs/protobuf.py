"""Protobuf, in which graphs of ONNX and TensorFlow are written: the fields of a message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum


class Wire(IntEnum):
    """How a field is encoded. Groups (3 and 4) are missing: nothing writes them any more."""

    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5


WIRES = {int(wire): wire for wire in Wire}
FIXED_BYTES = {Wire.FIXED64: 8, Wire.FIXED32: 4}
_LARGEST_NUMBER = (1 << 64) - 1
LONGEST_VARINT = 10


@dataclass(frozen=True)
class Field:
    number: int
    wire: Wire
    start: int  # of the payload, in the file
    length: int  # of the payload, as declared
    value: int = 0  # of a varint


class DamagedMessage(Exception):
    """The bytes are not what protobuf writes."""


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
        self.rest = rest  # of ``read_fields``: the field's number, and these bytes


class NotProtobuf(DamagedMessage):
    """These bytes are not protobuf."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"not protobuf at byte {offset}")
        self.offset = offset


def read_fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Every field of a message: its number, and its value (an unsigned number, or bytes).

    Raises TruncatedField or NotProtobuf.
    """
    position, end = 0, len(message)
    while position < end:
        tag, position = read_varint(message, position)
        number, wire = tag >> 3, WIRES.get(tag & 7)
        if number == 0 or wire is None:
            raise NotProtobuf(position)
        if wire is Wire.VARINT:
            value, position = read_varint(message, position)
            yield number, value & _LARGEST_NUMBER
            continue
        if wire is Wire.BYTES:
            length, position = read_varint(message, position)
        else:
            length = FIXED_BYTES[wire]
        if length > end - position:
            raise TruncatedField(None, end - position, (number, message[position:]))
        content = message[position : position + length]
        position += length
        yield number, content if wire is Wire.BYTES else int.from_bytes(content, "little")


def read_packed_varints(numbers: memoryview) -> Iterator[int]:
    """Numbers written one after the other; raises TruncatedField or NotProtobuf."""
    position = 0
    while position < len(numbers):
        number, position = read_varint(numbers, position)
        yield number & _LARGEST_NUMBER


def to_signed(number: int) -> int:
    """The int64 that protobuf writes as this unsigned number."""
    return number - (1 << 64) if number >= 1 << 63 else number


def read_varint(message: bytes | memoryview, at: int, offset: int = 0) -> tuple[int, int]:
    """The number at ``message[at:]``, and the position after it.

    ``offset`` is what NotProtobuf reports as the place of the field.
    """
    number, shift, end = 0, 0, len(message)
    while at < end:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift == 7 * LONGEST_VARINT:
            raise NotProtobuf(offset)
    raise TruncatedField(None, 0)
