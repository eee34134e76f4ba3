"""Protobuf: the outermost fields of a file, without their content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.refusals import printable_name
from modeldyno.graphs.protobuf import (
    FIXED_BYTES,
    LONGEST_VARINT,
    WIRES,
    Field,
    NotProtobuf,
    TruncatedField,
    Wire,
    read_varint,
)

_LARGEST = 2**31 - 1  # bytes that protobuf itself can read
_LONGEST_HEADER = 2 * LONGEST_VARINT  # a tag and a length
# A hostile file of a billion two-byte fields would take an hour; the largest real model we know has
# a few thousand fields at the top.
_MOST_FIELDS = 1_000_000


def require_protobuf_size(path: Path, kind: str, fix: str) -> None:
    size = path.stat().st_size
    if size > _LARGEST:
        raise ModelUnreadable(
            f"{printable_name(path)} is too large for one {kind}",
            why=f"it has {size} bytes, and protobuf cannot read more than {_LARGEST}",
            fix=fix,
        )


def read_file_fields(file: BinaryIO, start: int, end: int) -> Iterator[Field]:
    """Every field between two offsets; raises DamagedMessage at the first that makes no sense."""
    position = start
    for _ in range(_MOST_FIELDS):
        if position == end:
            return
        field = _read_field(file, position, end)
        position = field.start + field.length
        if position > end:
            raise TruncatedField(field, end - field.start)
        yield field
    raise NotProtobuf(position)


def _read_field(file: BinaryIO, position: int, end: int) -> Field:
    file.seek(position)
    header = file.read(min(_LONGEST_HEADER, end - position))
    tag, used = read_varint(header, 0, position)
    number, wire = tag >> 3, WIRES.get(tag & 7)
    if number == 0 or wire is None:
        raise NotProtobuf(position)
    if wire in FIXED_BYTES:
        return Field(number, wire, position + used, FIXED_BYTES[wire])
    value, after = read_varint(header, used, position)
    if wire is Wire.VARINT:
        return Field(number, wire, position + used, after - used, value)
    return Field(number, wire, position + after, value)
