"""CRC-32C (Castagnoli) with NumPy: Python has none, and a byte at a time takes longer than decoding
the image that it protects."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # bits reversed
_BLOCK = 1024  # bytes: its table fits into a core's cache
_SHORT = 64
_ALL = 0xFFFFFFFF


def masked_crc32c(content: bytes) -> int:
    """As TFRecords store it, so that the CRC of a file with CRCs in it is not 0."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _ALL


def crc32c(content: bytes) -> int:
    if len(content) < _SHORT:
        table, state = _byte_table(), _ALL
        for byte in content:
            state = table[(state ^ byte) & 0xFF] ^ state >> 8
        return state ^ _ALL
    return _crc_of_blocks(content) ^ _ALL


def _crc_of_blocks(content: bytes) -> int:
    """CRCs are linear: that of a block is the XOR of what each byte contributes at its place, and
    zeros in front contribute nothing."""
    head = -len(content) % _BLOCK
    padded = np.zeros(head + len(content), np.uint8)
    padded[head:] = np.frombuffer(content, np.uint8)
    padded[head : head + 4] ^= 0xFF  # the state that a CRC begins with
    contributions = _contributions()
    places = np.arange(_BLOCK, dtype=np.uint32) * 256
    first, second, third, fourth = (table.tolist() for table in contributions[:4])
    state = 0
    # Some blocks at a time: the indices take four times the space of the bytes.
    for start in range(0, len(padded), 256 * _BLOCK):
        blocks = padded[start : start + 256 * _BLOCK].reshape(-1, _BLOCK)
        crcs = np.bitwise_xor.reduce(contributions.ravel().take(blocks + places), axis=1)
        for crc in crcs.tolist():
            state = (
                crc
                ^ first[state & 0xFF]
                ^ second[state >> 8 & 0xFF]
                ^ third[state >> 16 & 0xFF]
                ^ fourth[state >> 24]
            )
    return int(state)


@functools.cache
def _byte_table() -> list[int]:
    table = []
    for byte in range(256):
        state = byte
        for _ in range(8):
            state = state >> 1 ^ (_POLYNOMIAL if state & 1 else 0)
        table.append(state)
    return table


@functools.cache
def _contributions() -> np.ndarray[Any, Any]:
    """``[place, byte]`` within a block, from a state of 0."""
    table = np.array(_byte_table(), np.uint32)
    rows = [table]
    for _ in range(_BLOCK - 1):
        rows.append(rows[-1] >> 8 ^ table[rows[-1] & 0xFF])
    return np.stack(rows[::-1])
