"""Where a file that protobuf refuses goes wrong: protobuf itself does not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from modeldyno.formats.containers.protobuf import Cut, Field, Foreign, Wire, fields


def damage(path: Path) -> str:
    """The innermost place that makes no sense, in words."""
    from onnx import ModelProto

    try:
        with path.open("rb") as file:
            found = _search(file, ModelProto.DESCRIPTOR, 0, path.stat().st_size, "the model")
    except RecursionError:
        return "its graphs are nested too deeply"
    return found or "protobuf cannot read it"


def _search(file: BinaryIO, message: Any, start: int, end: int, where: str) -> str | None:
    counts: dict[int, int] = {}
    try:
        for field in fields(file, start, end):
            index = counts.get(field.number, 0)
            counts[field.number] = index + 1
            found = _search_in(file, message, field, index)
            if found is not None:
                return found
    except Foreign as foreign:
        return f"byte {foreign.offset}, in {where}, makes no sense"
    except Cut as cut:
        place = cut.field.start if cut.field else end
        return f"byte {place}, in {where}, begins a field that is longer than what holds it"
    return None


def _search_in(file: BinaryIO, message: Any, field: Field, index: int) -> str | None:
    known = message.fields_by_number.get(field.number)
    if known is None or known.message_type is None or field.wire is not Wire.BYTES:
        return None
    where = f"{message.name}.{known.name}[{index}]"
    return _search(file, known.message_type, field.start, field.start + field.length, where)
