"""Is this file ONNX? The format has no magic number, so we look at its outermost fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.containers.protobuf import Cut, Field, Foreign, Wire, fields
from modeldyno.formats.plain_text import is_text
from modeldyno.formats.refusals import shown

# ModelProto of onnx.proto: what each field is called and how it is written.
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
_HIGHEST_IR_VERSION = 1000  # far in the future; other protobuf files have any number here
_FIRST_IR_WITH_OPSETS = 3
_LONGEST_PRODUCER = 4096


@dataclass(frozen=True)
class Outline:
    """A file seen as ModelProto: the first field of each number, and where that ended."""

    fields: dict[int, Field]
    trouble: Cut | Foreign | None
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
        return self.trouble is None and self.has_graph and has_opsets and self.looks_like_onnx


def outline_of(file: BinaryIO, size: int) -> Outline:
    seen: dict[int, Field] = {}
    trouble: Cut | Foreign | None = None
    try:
        for field in fields(file, 0, size):
            seen.setdefault(field.number, field)
    except Cut as cut:
        trouble = cut
        if cut.field is not None:
            seen.setdefault(cut.field.number, cut.field)
    except Foreign as foreign:
        trouble = foreign
    return Outline(seen, trouble, _is_producer(file, seen.get(_PRODUCER)))


def _is_producer(file: BinaryIO, field: Field | None) -> bool:
    """A name: TensorFlow's SavedModel keeps a whole graph in its field of that number."""
    if field is None or field.wire is not Wire.BYTES or not 0 < field.length <= _LONGEST_PRODUCER:
        return False
    file.seek(field.start)
    return is_text(file.read(field.length))


def broken(path: Path, size: int, outline: Outline) -> ModelUnreadable:
    """What to say about a file that began as ONNX and did not end as one."""
    trouble = outline.trouble
    if isinstance(trouble, Foreign):
        return ModelUnreadable(
            f"{shown(path)} is a damaged ONNX model",
            why=f"from byte {trouble.offset} of {size} on it makes no sense",
            fix="Copy, download or export it again",
        )
    return ModelUnreadable(
        f"{shown(path)} is truncated: {_where_it_ends(outline, trouble)}",
        why="it begins as an ONNX model, but its end is missing",
        fix="Copy, download or export it again",
    )


def _where_it_ends(outline: Outline, cut: Cut | None) -> str:
    if cut is not None and cut.field is not None:
        name, _ = _FIELDS.get(cut.field.number, (f"field {cut.field.number}", Wire.BYTES))
        return f"the {name} says {cut.field.length} bytes, the file has {cut.available} of them"
    return f"it ends before its {'opset list' if outline.has_graph else 'graph'}"
