"""Recognise ONNX files. They have no magic number, so we look at the outermost fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.containers.protobuf import read_file_fields
from modeldyno.formats.file_reading import is_text
from modeldyno.formats.refusals import damaged_file_error
from modeldyno.graphs.protobuf import DamagedMessage, Field, NotProtobuf, TruncatedField, Wire

# ModelProto of onnx.proto: the name of each field, and how it is encoded.
_FIELDS = {
    1: ("IR version", Wire.VARINT),
    2: ("producer's name", Wire.BYTES),
    3: ("producer's version", Wire.BYTES),
    4: ("domain", Wire.BYTES),
    5: ("model version", Wire.VARINT),
    6: ("description", Wire.BYTES),
    7: ("graph", Wire.BYTES),
    8: ("opset list", Wire.BYTES),
    14: ("metadata", Wire.BYTES),
    20: ("training information", Wire.BYTES),
    25: ("function list", Wire.BYTES),
    26: ("device configuration", Wire.BYTES),
}
_IR_VERSION, _PRODUCER, _GRAPH, _OPSETS = 1, 2, 7, 8
_HIGHEST_IR_VERSION = 1000  # far in the future; in other protobuf files this can be any number
_FIRST_IR_WITH_OPSETS = 3
_LONGEST_PRODUCER = 4096


@dataclass(frozen=True)
class Outline:
    """A file read as a ModelProto: the first field of each number, and why reading stopped."""

    fields: dict[int, Field]
    problem: DamagedMessage | None
    has_producer: bool

    @property
    def ir_version(self) -> int:
        return self.fields[_IR_VERSION].value if _IR_VERSION in self.fields else 0

    @property
    def has_graph(self) -> bool:
        return _GRAPH in self.fields

    @property
    def looks_like_onnx(self) -> bool:
        fits = all(
            field.wire is _FIELDS[number][1]
            for number, field in self.fields.items()
            if number in _FIELDS
        )
        plausible = 1 <= self.ir_version <= _HIGHEST_IR_VERSION
        return fits and plausible and (self.has_graph or self.has_producer)

    @property
    def is_complete(self) -> bool:
        has_opsets = _OPSETS in self.fields or self.ir_version < _FIRST_IR_WITH_OPSETS
        return self.problem is None and self.has_graph and has_opsets and self.looks_like_onnx


def read_outline(file: BinaryIO, size: int) -> Outline:
    first: dict[int, Field] = {}
    problem: DamagedMessage | None = None
    try:
        for field in read_file_fields(file, 0, size):
            first.setdefault(field.number, field)
    except DamagedMessage as error:
        problem = error
        if isinstance(error, TruncatedField) and error.field is not None:
            first.setdefault(error.field.number, error.field)
    return Outline(first, problem, _holds_name(file, first.get(_PRODUCER)))


def _holds_name(file: BinaryIO, field: Field | None) -> bool:
    """Whether it is a name: in TensorFlow's SavedModel, a whole graph has that number."""
    if field is None or field.wire is not Wire.BYTES or not 0 < field.length <= _LONGEST_PRODUCER:
        return False
    file.seek(field.start)
    return is_text(file.read(field.length))


def damaged_model_error(path: Path, size: int, outline: Outline) -> ModelUnreadable:
    """The error for a file that begins as ONNX but is damaged or truncated."""
    if isinstance(outline.problem, NotProtobuf):
        why = f"from byte {outline.problem.offset} of {size} on it is invalid"
        return damaged_file_error(path, why, "a damaged ONNX model")
    why = "it begins as an ONNX model, but its end is missing"
    return damaged_file_error(path, why, f"truncated: {_describe_end(outline)}")


def _describe_end(outline: Outline) -> str:
    cut = outline.problem
    if isinstance(cut, TruncatedField) and cut.field is not None:
        name, _ = _FIELDS.get(cut.field.number, (f"field {cut.field.number}", Wire.BYTES))
        return f"the {name} says {cut.field.length} bytes, the file has {cut.available} of them"
    return f"it ends before its {'opset list' if outline.has_graph else 'graph'}"
