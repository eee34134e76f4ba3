"""A LiteRT file (.tflite): its graphs of tensors and operators; weights are skipped."""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modeldyno.core.models import TensorNames
from modeldyno.formats.containers.flatbuffer import Damaged, Flatbuffer, Table
from modeldyno.formats.litert.schema import CUSTOM, DTYPES, OPERATORS
from modeldyno.formats.refusals import damaged_file_error

MAGIC, MAGIC_AT = b"TFL3", 4
HIGHEST_RANK = 64
_VERSION = 3
_FIRST_OUTSIDE = 2  # smaller offsets do not mean values behind the tables


@dataclass(frozen=True)
class LiteRtTensor:
    name: str
    dtype: str
    shape: tuple[int | None, ...] | None  # None: the rank is unknown
    stored_bytes: int  # of its values in the file; 0: no constant
    buffer: int
    scales: tuple[float, ...]  # of a quantised tensor: one, or one per channel
    zero_points: tuple[int, ...]
    is_variable: bool

    @property
    def elements(self) -> int:
        return math.prod(size or 0 for size in self.shape or ())


@dataclass(frozen=True)
class Operator:
    type: str
    is_custom: bool
    inputs: tuple[int, ...]  # -1: an optional one, left out
    outputs: tuple[int, ...]
    settings_type: int
    settings: Table | None = field(repr=False)
    custom_bytes: int


@dataclass(frozen=True)
class Subgraph:
    name: str
    tensors: tuple[LiteRtTensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True)
class LiteRtFile:
    version: int
    description: str
    subgraphs: tuple[Subgraph, ...]  # the first one is the model; others belong to operators
    signatures: tuple[TensorNames, ...]  # of the first one
    other_signatures: int


def is_litert(head: bytes) -> bool:
    return head[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


@contextlib.contextmanager
def opened_file(path: Path) -> Iterator[LiteRtFile]:
    """Settings of operators can be read only while it is open. Raises ModelUnreadable."""
    try:
        with path.open("rb") as file:
            yield _read_file(Flatbuffer(file))
    except (Damaged, struct.error) as error:
        fix = "Copy, download or convert it again"
        raise damaged_file_error(path, str(error), "a damaged LiteRT model", fix) from error


def _read_file(buffer: Flatbuffer) -> LiteRtFile:
    model = buffer.root()
    version = model.integer(0, "<I")
    if version != _VERSION:
        raise Damaged(f"it has version {version} of the format, and only {_VERSION} exists")
    if model.vector(8, 4) or model.vector(9, 4):
        raise Damaged("it keeps weights in other files, which is not supported")
    codes = [_read_operator_code(code) for code in model.tables(1)]
    stored = [_count_stored_bytes(buffer, entry) for entry in model.tables(4)]
    subgraphs = tuple(_read_subgraph(table, codes, stored) for table in model.tables(2))
    if not subgraphs:
        raise Damaged("it has no graph")
    signatures = [(table.integer(4, "<I"), _read_signature(table)) for table in model.tables(7)]
    main = tuple(signature for number, signature in signatures if number == 0)
    return LiteRtFile(version, model.text(3), subgraphs, main, len(signatures) - len(main))


def _read_operator_code(code: Table) -> tuple[str, bool]:
    """An operator's name, and whether it is custom."""
    number = max(
        code.integer(0, "<b"), code.integer(3)
    )  # in the older, shorter field or the newer one
    if number == CUSTOM:
        return code.text(1) or "CUSTOM", True
    return (OPERATORS[number] if number in range(len(OPERATORS)) else f"OPERATOR_{number}"), False


def _count_stored_bytes(buffer: Flatbuffer, entry: Table) -> int:
    """The size of a constant's values, inside or, in very large files, behind all tables."""
    inside = entry.vector(0, 1)
    if inside is not None and inside.count:
        return inside.count
    offset, size = entry.integer(1, "<Q"), entry.integer(2, "<Q")
    if offset < _FIRST_OUTSIDE:
        return 0
    if offset + size > buffer.size:
        raise Damaged(f"weights end at byte {offset + size}, and it has {buffer.size}")
    return size


def _read_subgraph(
    table: Table, codes: Sequence[tuple[str, bool]], stored: Sequence[int]
) -> Subgraph:
    tensors = tuple(_read_tensor(entry, stored) for entry in table.tables(0))
    operators = tuple(_read_operator(entry, codes, len(tensors)) for entry in table.tables(3))
    ends = table.ints(1), table.ints(2)
    for numbers in ends:
        _require_tensors(numbers, len(tensors), lowest=0)
    return Subgraph(table.text(4), tensors, *ends, operators)


def _read_tensor(table: Table, stored: Sequence[int]) -> LiteRtTensor:
    dtype, buffer = table.integer(1, "<b"), table.integer(2, "<I")
    if buffer >= len(stored) and buffer:
        name = table.text(3)[:100]
        raise Damaged(f"tensor {name!r} has its values in buffer {buffer}, which does not exist")
    shape, open_shape = table.ints(0), table.ints(7)
    if max(len(shape), len(open_shape)) > HIGHEST_RANK:
        raise Damaged(f"a tensor has more than {HIGHEST_RANK} dimensions")
    sizes = open_shape if len(open_shape) == len(shape) and open_shape else shape
    is_known = bool(shape) or table.integer(8, "<b") != 0 or bool(stored and stored[buffer])
    quantised = table.table(4)
    return LiteRtTensor(
        table.text(3),
        DTYPES[dtype] if dtype in range(len(DTYPES)) else f"type {dtype}",
        tuple(size if size >= 0 else None for size in sizes) if is_known else None,
        stored[buffer] if stored else 0,
        buffer,
        quantised.floats(2) if quantised else (),
        quantised.longs(3) if quantised else (),
        table.integer(5, "<b") != 0,
    )


def _read_operator(table: Table, codes: Sequence[tuple[str, bool]], tensors: int) -> Operator:
    number = table.integer(0, "<I")
    if number >= len(codes):
        raise Damaged(f"an operator has the type {number}, and there are {len(codes)}")
    inputs, outputs = table.ints(1), table.ints(2)
    _require_tensors(inputs, tensors, lowest=-1)
    _require_tensors(outputs, tensors, lowest=-1)
    custom = table.vector(5, 1)
    return Operator(
        *codes[number],
        inputs,
        outputs,
        table.integer(3, "<B"),
        table.table(4),
        custom.count if custom else 0,
    )


def _require_tensors(numbers: Sequence[int], tensors: int, lowest: int) -> None:
    if any(not lowest <= number < tensors for number in numbers):
        raise Damaged(f"it uses tensors that do not exist: it has {tensors}")


def _read_signature(table: Table) -> TensorNames:
    inputs, outputs = (
        {port.text(0): port.integer(1, "<I") for port in table.tables(field)} for field in (0, 1)
    )
    return TensorNames(table.text(2), inputs, outputs)
