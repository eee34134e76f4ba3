"""A LiteRT file (.tflite) taken apart: graphs of tensors and operators, weights passed over."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.signatures import Signature
from modeldyno.formats.containers.flatbuffer import Damaged, Flatbuffer, Table
from modeldyno.formats.litert.schema import CUSTOM, DTYPES, OPERATORS
from modeldyno.formats.refusals import shown

MAGIC, MAGIC_AT = b"TFL3", 4
HIGHEST_RANK = 64
_VERSION = 3
_FIRST_OUTSIDE = 2  # offsets of values behind all tables begin here


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int | None, ...] | None  # None: not even the rank is known
    stored_bytes: int  # of its values in the file; 0: it is no constant
    buffer: int
    scales: tuple[float, ...]  # it is quantised: one, or one for each channel
    zero_points: tuple[int, ...]
    is_variable: bool


@dataclass(frozen=True)
class Operator:
    type: str
    is_custom: bool
    inputs: tuple[int, ...]  # -1: an optional one that is left out
    outputs: tuple[int, ...]
    settings_type: int
    settings: Table | None = field(repr=False)
    custom_bytes: int


@dataclass(frozen=True)
class Subgraph:
    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True)
class File:
    version: int
    description: str
    subgraphs: tuple[Subgraph, ...]  # the first one is the model; others belong to operators
    signatures: tuple[Signature, ...]  # of the first one
    other_signatures: int


def is_litert(head: bytes) -> bool:
    return head[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


@contextlib.contextmanager
def opened(path: Path) -> Iterator[File]:
    """Settings of operators are read while it is open. Raises ModelUnreadable."""
    with Flatbuffer(path) as buffer, refusing(path):
        yield _file(buffer)


@contextlib.contextmanager
def refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except (Damaged, struct.error) as error:
        raise ModelUnreadable(
            f"{shown(path)} is a damaged LiteRT model",
            why=str(error),
            fix="Copy, download or convert it again",
        ) from error


def _file(buffer: Flatbuffer) -> File:
    model = buffer.root()
    version = model.whole(0, "<I")
    if version != _VERSION:
        raise Damaged(f"it has version {version} of the format, and there is {_VERSION} only")
    if model.vector(8, 4) or model.vector(9, 4):
        raise Damaged("it keeps weights in other files, which is not supported")
    codes = [_code(code) for code in model.tables(1)]
    stored = [_stored(buffer, one) for one in model.tables(4)]
    subgraphs = tuple(_subgraph(one, codes, stored) for one in model.tables(2))
    if not subgraphs:
        raise Damaged("it has no graph")
    signatures = [(one.whole(4, "<I"), _signature(one)) for one in model.tables(7)]
    main = tuple(signature for number, signature in signatures if number == 0)
    return File(version, model.text(3), subgraphs, main, len(signatures) - len(main))


def _code(code: Table) -> tuple[str, bool]:
    """An operator's name, and whether it is none of LiteRT's own."""
    short, number = code.whole(0, "<b"), code.whole(3)
    number = max(short, number)
    if number == CUSTOM:
        return code.text(1) or "CUSTOM", True
    return (OPERATORS[number] if number in range(len(OPERATORS)) else f"OPERATOR_{number}"), False


def _stored(buffer: Flatbuffer, told: Table) -> int:
    """Bytes of a constant's values, which are here or, in very large files, behind all tables."""
    here = told.vector(0, 1)
    if here is not None and here.count:
        return here.count
    offset, size = told.whole(1, "<Q"), told.whole(2, "<Q")
    if offset < _FIRST_OUTSIDE:
        return 0
    if offset + size > buffer.size:
        raise Damaged(f"weights end at byte {offset + size}, and it has {buffer.size}")
    return size


def _subgraph(told: Table, codes: Sequence[tuple[str, bool]], stored: Sequence[int]) -> Subgraph:
    tensors = tuple(_tensor(one, stored) for one in told.tables(0))
    operators = tuple(_operator(one, codes, len(tensors)) for one in told.tables(3))
    ends = told.ints(1), told.ints(2)
    for numbers in ends:
        _check(numbers, len(tensors), lowest=0)
    return Subgraph(told.text(4), tensors, *ends, operators)


def _tensor(told: Table, stored: Sequence[int]) -> Tensor:
    kind, buffer = told.whole(1, "<b"), told.whole(2, "<I")
    if buffer >= len(stored) and buffer:
        raise Damaged(f"tensor {told.text(3)[:100]!r} has its values in a place that is not there")
    shape, open_shape = told.ints(0), told.ints(7)
    if max(len(shape), len(open_shape)) > HIGHEST_RANK:
        raise Damaged(f"a tensor has more than {HIGHEST_RANK} dimensions")
    sizes = open_shape if len(open_shape) == len(shape) and open_shape else shape
    is_known = bool(shape) or told.whole(8, "<b") != 0 or bool(stored and stored[buffer])
    quantised = told.table(4)
    return Tensor(
        told.text(3),
        DTYPES[kind] if kind in range(len(DTYPES)) else f"type {kind}",
        tuple(size if size >= 0 else None for size in sizes) if is_known else None,
        stored[buffer] if stored else 0,
        buffer,
        quantised.floats(2) if quantised else (),
        quantised.longs(3) if quantised else (),
        told.whole(5, "<b") != 0,
    )


def _operator(told: Table, codes: Sequence[tuple[str, bool]], tensors: int) -> Operator:
    number = told.whole(0, "<I")
    if number >= len(codes):
        raise Damaged(f"an operator has the type {number}, and there are {len(codes)}")
    inputs, outputs = told.ints(1), told.ints(2)
    _check(inputs, tensors, lowest=-1)
    _check(outputs, tensors, lowest=-1)
    custom = told.vector(5, 1)
    return Operator(
        *codes[number],
        inputs,
        outputs,
        told.whole(3, "<B"),
        told.table(4),
        custom.count if custom else 0,
    )


def _check(numbers: Sequence[int], tensors: int, lowest: int) -> None:
    if any(not lowest <= number < tensors for number in numbers):
        raise Damaged(f"it uses tensors that are not there: it has {tensors}")


def _signature(told: Table) -> Signature:
    inputs, outputs = (
        {one.text(0): one.whole(1, "<I") for one in told.tables(field)} for field in (0, 1)
    )
    return Signature(told.text(2), inputs, outputs)
