"""Is this file TensorFlow's? Its protobuf files have no magic number: we look at how they begin."""

from __future__ import annotations

import re
from pathlib import Path

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import ModelFormat
from modeldyno.formats.containers.protobuf import Cut, Foreign, Wire, values
from modeldyno.formats.containers.zip_members import is_zip, member_names
from modeldyno.formats.keras.model import is_keras
from modeldyno.formats.onnx.recognition import Outline
from modeldyno.formats.refusals import shown

_OP = re.compile(rb"[A-Z_][A-Za-z0-9>_.]*")
_NAME = re.compile(rb"[A-Za-z0-9.^_][A-Za-z0-9_.\\/>-]*")


def tf_format(path: Path, head: bytes, outline: Outline) -> ModelFormat | None:
    """None where it is nothing of TensorFlow's; raises ModelUnreadable for a part of one."""
    if is_zip(head):
        return "keras" if is_keras(member_names(path) or []) else None
    found: ModelFormat
    first, second = outline.fields.get(1), outline.fields.get(2)
    if first is not None and first.wire is Wire.BYTES and _begins_with_node(head):
        found = "tf-graph"
    elif (
        first is not None
        and first.wire is Wire.VARINT
        and first.value == 1
        and second is not None
        and second.wire is Wire.BYTES
        and _begins_with_meta_graph(head[second.start :])
    ):
        found = "saved-model"
    else:
        return None
    if outline.trouble is None:
        return found
    what = {"tf-graph": "frozen TensorFlow graph", "saved-model": "SavedModel"}[found]
    if isinstance(outline.trouble, Foreign):
        why = f"it begins as a {what}; from byte {outline.trouble.offset} on it makes no sense"
    else:
        why = f"it begins as a {what}, but its end is missing"
    raise ModelUnreadable(
        f"{shown(path)} is {'damaged' if isinstance(outline.trouble, Foreign) else 'truncated'}",
        why=why,
        fix="Copy, download or export it again",
    )


def _begins_with_node(head: bytes) -> bool:
    """A GraphDef is a list of nodes, each beginning with its name and its operator."""
    for number, value in _first_fields(head):
        if number != 1 or not isinstance(value, memoryview):
            return False
        told = dict(_first_fields(bytes(value)))
        name, op = told.get(1), told.get(2)
        return (
            isinstance(name, memoryview)
            and isinstance(op, memoryview)
            and _NAME.fullmatch(name) is not None
            and _OP.fullmatch(op) is not None
        )
    return False


def _begins_with_meta_graph(data: bytes) -> bool:
    """It tells which operators and which version of TensorFlow, or goes straight to its nodes."""
    for number, value in _first_fields(data):
        if not isinstance(value, memoryview):
            return False
        if number == 2:
            return _begins_with_node(bytes(value))
        if number == 1:
            return all(1 <= one <= 8 for one, _ in _first_fields(bytes(value)))
    return False


def _first_fields(data: bytes) -> list[tuple[int, int | memoryview]]:
    """As many as there are before the data ends; the last one may be cut off, too."""
    found: list[tuple[int, int | memoryview]] = []
    try:
        for field in values(memoryview(data)):
            found.append(field)
    except Cut as cut:
        if cut.rest is not None:
            found.append(cut.rest)
    except Foreign:
        pass
    return found
