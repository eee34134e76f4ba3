"""An ONNX file without the numbers of its weights, copied field by field: a graph of a gigabyte of
weights is read in the memory that its nodes take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from modeldyno.formats.containers.protobuf import Cut, Field, Foreign, Wire, fields
from modeldyno.formats.onnx.model import PROTOBUF_LIMIT, parse

if TYPE_CHECKING:
    from onnx import ModelProto

# Numbers of fields in onnx.proto.
_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_DATA = (4, 5, 6, 7, 9, 10, 11)  # of TensorProto: raw_data and its typed brothers
_SMALL = 1024  # bytes: shapes and axes are constants that inference needs


def parse_without_weights(path: Path) -> ModelProto:
    """As ``parse``, but initializers of more than a kilobyte have types and shapes only."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # has no types
    from onnx import ModelProto

    if path.stat().st_size > PROTOBUF_LIMIT:
        return parse(path)  # which says what is wrong
    try:
        with path.open("rb") as file:
            bare = _model(file, path.stat().st_size)
        model: ModelProto = ModelProto.FromString(bare)
    except (Cut, Foreign, DecodeError):  # damaged, or of more fields than we walk
        return parse(path)
    return model


def _model(file: BinaryIO, size: int) -> bytes:
    out = bytearray()
    for begin, field in _placed(file, 0, size):
        if field.number == _GRAPH and field.wire is Wire.BYTES:
            out += _message(_GRAPH, _graph(file, field))
        else:
            out += _bytes(file, begin, field)
    return bytes(out)


def _graph(file: BinaryIO, graph: Field) -> bytes:
    out = bytearray()
    for begin, field in _placed(file, graph.start, graph.start + graph.length):
        is_weight = field.number == _INITIALIZER and field.wire is Wire.BYTES
        if is_weight and field.length > _SMALL:
            out += _message(_INITIALIZER, _tensor(file, field))
        else:
            out += _bytes(file, begin, field)
    return bytes(out)


def _tensor(file: BinaryIO, tensor: Field) -> bytes:
    placed = _placed(file, tensor.start, tensor.start + tensor.length)
    return b"".join(_bytes(file, begin, f) for begin, f in placed if f.number not in _DATA)


def _placed(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, Field]]:
    """Fields with the place where their tag begins."""
    begin = start
    for field in fields(file, start, end):
        yield begin, field
        begin = field.start + field.length


def _bytes(file: BinaryIO, begin: int, field: Field) -> bytes:
    file.seek(begin)
    return file.read(field.start + field.length - begin)


def _message(number: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while left >= 0x80:
        length.append(left & 0x7F | 0x80)
        left >>= 7
    length.append(left)
    return bytes([number << 3 | Wire.BYTES]) + length + body
