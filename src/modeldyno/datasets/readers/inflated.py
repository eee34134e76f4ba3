"""Compressed bytes, read forwards a piece at a time, so that memory stays bounded."""

from __future__ import annotations

import zlib

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.readers.files import Folder

GZIP, DEFLATE = 31, -15  # what zlib calls its window: with a header and a checksum, or bare
_PIECE = 1 << 18  # bytes; a piece of a bomb becomes a thousand times as long, so output has a limit


class Inflated:
    """Going back to bytes before the last ones read begins anew. ``crc`` is what a zip archive
    says of the whole; gzip checks its own."""

    def __init__(self, folder: Folder, file: str, start: int, window: int, crc: int | None) -> None:
        self._folder, self._file, self._start = folder, file, start
        self._window, self._expected_crc = window, crc
        self._buffer, self._place = b"", 0
        self._rewind()

    def read(self, start: int, size: int) -> bytes:
        """Fewer bytes if it ends before; raises zlib.error or ValueError if it is damaged."""
        try:
            return self._read(start, size)
        except (OSError, ValueError, zlib.error, DatasetUnreadable):
            self._rewind()  # so that trying again does not go on after the damage
            raise

    def _read(self, start: int, size: int) -> bytes:
        if start < self._position:
            self._rewind()
        while self._position < start and self._fill():
            self._take(start - self._position)
        pieces = []
        while size and self._fill():
            pieces.append(self._take(size))
            size -= len(pieces[-1])
        return b"".join(pieces)

    def _take(self, most: int) -> bytes:
        piece = self._buffer[self._place : self._place + most]
        self._place += len(piece)
        self._position += len(piece)
        return piece

    def _rewind(self) -> None:
        self._stream = zlib.decompressobj(self._window)
        self._next = self._start  # in the file
        self._position = 0  # in the bytes that come out
        self._buffer, self._place = b"", 0
        self._crc = 0

    def _fill(self) -> bool:
        """Whether there are bytes left."""
        while self._place == len(self._buffer) and not self._stream.eof:
            compressed = self._stream.unconsumed_tail or self._read_piece()
            self._buffer, self._place = self._stream.decompress(compressed, _PIECE), 0
            self._crc = zlib.crc32(self._buffer, self._crc)
            if self._stream.eof and self._expected_crc not in (None, self._crc):
                raise ValueError("its checksum (CRC-32) is wrong: bytes of it have changed")
            if not (compressed or self._buffer or self._stream.eof):
                raise ValueError("the file was cut off")
        return self._place < len(self._buffer)

    def _read_piece(self) -> bytes:
        with self._folder.open(self._file) as file:
            file.seek(self._next)
            piece = file.read(_PIECE)
        self._next += len(piece)
        return piece
