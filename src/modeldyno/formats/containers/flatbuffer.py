"""Flatbuffers, read by our own code: every offset is checked, and reading comes to an end.

A table begins with an offset back to its vtable, which says where in the table each field is. All
other offsets point forward. All reads are counted: a small file whose tables share one long vector
would otherwise be read for hours.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

LONGEST_TEXT = 4096  # bytes of a string that are read
_BLOCK = 1 << 16
_MOST_BLOCKS = 256  # kept in memory: weights are passed over
_FEWEST_READS = 1 << 20
_READS_PER_BYTE = 2  # a field takes at least four bytes, and is read three times at most


class Damaged(Exception):
    """The file contradicts itself; the message says how."""


class Flatbuffer:
    """A file, read in pieces: its weights may be larger than memory."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        self.size = path.stat().st_size
        self._blocks: dict[int, bytes] = {}
        self._reads_left = max(_FEWEST_READS, _READS_PER_BYTE * self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def root(self) -> Table:
        return Table(self, self.number("<I", 0))

    def bytes_at(self, place: int, count: int) -> bytes:
        """Raises Damaged where the file ends before."""
        if place < 0 or count < 0 or place + count > self.size:
            raise Damaged(f"it points to byte {place + count}, and has {self.size}")
        self._reads_left -= 1 + count // 4
        if self._reads_left < 0:
            raise Damaged("its parts point to each other again and again")
        first, last = place // _BLOCK, (place + max(1, count) - 1) // _BLOCK
        blocks = [self._block(number) for number in range(first, last + 1)]
        start = place - first * _BLOCK
        data = blocks[0] if len(blocks) == 1 else b"".join(blocks)
        content = data[start : start + count]
        if len(content) != count:  # it became shorter in the meantime
            raise Damaged(f"it ends before byte {place + count}")
        return content

    def number(self, layout: str, place: int) -> int:
        value: int = struct.unpack(layout, self.bytes_at(place, struct.calcsize(layout)))[0]
        return value

    def _block(self, number: int) -> bytes:
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
    """Fields by their number in the schema; absent ones have the schema's default."""

    def __init__(self, buffer: Flatbuffer, place: int) -> None:
        self._buffer = buffer
        self._place = place
        vtable = place - buffer.number("<i", place)
        size = buffer.number("<H", vtable)
        self._fields = struct.unpack(f"<{max(0, size // 2 - 2)}H", _fields(buffer, vtable, size))

    def whole(self, field: int, layout: str = "<i", default: int = 0) -> int:
        place = self._at(field)
        return default if place is None else self._buffer.number(layout, place)

    def real(self, field: int, default: float = 0.0) -> float:
        place = self._at(field)
        if place is None:
            return default
        value: float = struct.unpack("<f", self._buffer.bytes_at(place, 4))[0]
        return value

    def text(self, field: int) -> str:
        """Also if it is not UTF-8."""
        vector = self.vector(field, 1)
        if vector is None:
            return ""
        data = self._buffer.bytes_at(vector.start, min(vector.count, LONGEST_TEXT))
        return data.decode("utf-8", "replace")

    def table(self, field: int) -> Table | None:
        place = self._at(field)
        return None if place is None else Table(self._buffer, self._follow(place))

    def tables(self, field: int) -> Iterator[Table]:
        vector = self.vector(field, 4) or Vector(0, 0)
        for number in range(vector.count):
            yield Table(self._buffer, self._follow(vector.start + 4 * number))

    def ints(self, field: int) -> tuple[int, ...]:
        """Of 32 bits each."""
        return self._values(field, "i", 4)

    def longs(self, field: int) -> tuple[int, ...]:
        return self._values(field, "q", 8)

    def floats(self, field: int) -> tuple[float, ...]:
        return self._values(field, "f", 4)

    def vector(self, field: int, element_bytes: int) -> Vector | None:
        """Where it is; None if it is absent."""
        place = self._at(field)
        if place is None:
            return None
        start = self._follow(place)
        count = self._buffer.number("<I", start)
        end = start + 4 + count * element_bytes
        if end > self._buffer.size:
            raise Damaged(f"a part of it ends at byte {end}, and it has {self._buffer.size}")
        return Vector(start + 4, count)

    def _values(self, field: int, letter: str, size: int) -> tuple[Any, ...]:
        vector = self.vector(field, size) or Vector(0, 0)
        data = self._buffer.bytes_at(vector.start, size * vector.count)
        return struct.unpack(f"<{vector.count}{letter}", data)

    def _at(self, field: int) -> int | None:
        offset = self._fields[field] if field < len(self._fields) else 0
        return self._place + offset if offset else None

    def _follow(self, place: int) -> int:
        return place + self._buffer.number("<I", place)


def _fields(buffer: Flatbuffer, vtable: int, size: int) -> bytes:
    """The offsets in a vtable: after its own size and its table's."""
    return buffer.bytes_at(vtable + 4, 2 * max(0, size // 2 - 2))
