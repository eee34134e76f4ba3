"""Flatbuffers, read by our own code: every offset is checked, and reading always terminates.

A table begins with an offset back to its vtable, which says where in the table each field is. All
other offsets point forward. All reads are counted: a small file whose tables share one long vector
would otherwise be read for hours.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

LONGEST_TEXT = 4096  # bytes of a string that are read
_BLOCK = 1 << 16
_MOST_BLOCKS = 256  # kept in memory; weights are skipped
_FEWEST_READS = 1 << 20
_READS_PER_BYTE = 2  # a field has at least four bytes, and is read at most three times


class Damaged(Exception):
    """The file contradicts itself; the message says how."""


class Flatbuffer:
    """An open file, read in blocks: its weights may be larger than memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = file.seek(0, os.SEEK_END)
        self._blocks: dict[int, bytes] = {}
        self._reads_left = max(_FEWEST_READS, _READS_PER_BYTE * self.size)

    def root(self) -> Table:
        return Table(self, self.number("<I", 0))

    def bytes_at(self, place: int, count: int) -> bytes:
        """Raises Damaged if the file ends before."""
        if place < 0 or count < 0 or place + count > self.size:
            raise Damaged(f"it points to byte {place + count}, and has {self.size}")
        self._reads_left -= 1 + count // 4
        if self._reads_left < 0:
            raise Damaged("its parts refer to each other repeatedly")
        first, last = place // _BLOCK, (place + max(1, count) - 1) // _BLOCK
        blocks = [self._read_block(number) for number in range(first, last + 1)]
        start = place - first * _BLOCK
        content = (blocks[0] if len(blocks) == 1 else b"".join(blocks))[start : start + count]
        if len(content) != count:  # it was truncated meanwhile
            raise Damaged(f"it ends before byte {place + count}")
        return content

    def number(self, layout: str, place: int) -> Any:
        return struct.unpack(layout, self.bytes_at(place, struct.calcsize(layout)))[0]

    def _read_block(self, number: int) -> bytes:
        block = self._blocks.get(number)
        if block is None:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._blocks.clear()
            self._file.seek(number * _BLOCK)
            block = self._blocks[number] = self._file.read(_BLOCK)
        return block


@dataclass(frozen=True)
class Vector:
    """Consecutive elements, inside the file."""

    start: int
    count: int


class Table:
    """Fields by their number in the schema; for absent ones, the schema's default."""

    def __init__(self, buffer: Flatbuffer, place: int) -> None:
        self._buffer = buffer
        self._place = place
        vtable = place - buffer.number("<i", place)
        count = max(0, buffer.number("<H", vtable) // 2 - 2)  # less its own size and its table's
        self._fields = struct.unpack(f"<{count}H", buffer.bytes_at(vtable + 4, 2 * count))

    def integer(self, field: int, layout: str = "<i", default: int = 0) -> int:
        place = self._field_position(field)
        return default if place is None else int(self._buffer.number(layout, place))

    def float32(self, field: int) -> float:
        place = self._field_position(field)
        return 0.0 if place is None else float(self._buffer.number("<f", place))

    def text(self, field: int) -> str:
        """Bytes that are not UTF-8 are replaced."""
        vector = self.vector(field, 1)
        if vector is None:
            return ""
        text = self._buffer.bytes_at(vector.start, min(vector.count, LONGEST_TEXT))
        return text.decode("utf-8", "replace")

    def table(self, field: int) -> Table | None:
        place = self._field_position(field)
        return None if place is None else Table(self._buffer, self._follow_offset(place))

    def tables(self, field: int) -> Iterator[Table]:
        vector = self.vector(field, 4) or Vector(0, 0)
        for number in range(vector.count):
            yield Table(self._buffer, self._follow_offset(vector.start + 4 * number))

    def ints(self, field: int) -> tuple[int, ...]:
        return self._read_vector(field, "i", 4)

    def longs(self, field: int) -> tuple[int, ...]:
        return self._read_vector(field, "q", 8)

    def floats(self, field: int) -> tuple[float, ...]:
        return self._read_vector(field, "f", 4)

    def vector(self, field: int, element_bytes: int) -> Vector | None:
        """None if absent."""
        place = self._field_position(field)
        if place is None:
            return None
        start = self._follow_offset(place)
        count = self._buffer.number("<I", start)
        end = start + 4 + count * element_bytes
        if end > self._buffer.size:
            raise Damaged(f"a part of it ends at byte {end}, and it has {self._buffer.size}")
        return Vector(start + 4, count)

    def _read_vector(self, field: int, letter: str, size: int) -> tuple[Any, ...]:
        vector = self.vector(field, size) or Vector(0, 0)
        content = self._buffer.bytes_at(vector.start, size * vector.count)
        return struct.unpack(f"<{vector.count}{letter}", content)

    def _field_position(self, field: int) -> int | None:
        offset = self._fields[field] if field < len(self._fields) else 0
        return self._place + offset if offset else None

    def _follow_offset(self, place: int) -> int:
        return place + int(self._buffer.number("<I", place))
