"""Recognise TensorFlow's files. They have no magic number, so we look at how they begin."""

from __future__ import annotations

import re
from pathlib import Path

from modeldyno.core.models import ModelFormat
from modeldyno.formats.containers.zip_members import is_zip, member_names
from modeldyno.formats.keras.model import is_keras
from modeldyno.formats.onnx.recognition import Outline
from modeldyno.formats.refusals import damaged_file_error
from modeldyno.graphs.protobuf import DamagedMessage, NotProtobuf, TruncatedField, Wire, read_fields

_OP = re.compile(rb"[A-Z_][A-Za-z0-9>_.]*")
_NAME = re.compile(rb"[A-Za-z0-9.^_][A-Za-z0-9_.\\/>-]*")


def recognise_tensorflow_format(path: Path, head: bytes, outline: Outline) -> ModelFormat | None:
    """None if it is not TensorFlow's; raises ModelUnreadable if it is truncated or damaged."""
    if is_zip(head):
        return "keras" if is_keras(member_names(path) or []) else None
    first, second = outline.fields.get(1), outline.fields.get(2)
    model_format: ModelFormat
    if first is not None and first.wire is Wire.BYTES and _begins_with_node(head):
        model_format, title = "tf-graph", "frozen TensorFlow graph"
    elif (
        first is not None
        and first.wire is Wire.VARINT
        and first.value == 1
        and second is not None
        and second.wire is Wire.BYTES
        and _begins_with_meta_graph(head[second.start :])
    ):
        model_format, title = "saved-model", "SavedModel"
    else:
        return None
    if outline.problem is None:
        return model_format
    if isinstance(outline.problem, NotProtobuf):
        offset = outline.problem.offset
        raise damaged_file_error(
            path, f"it begins as a {title}; from byte {offset} on it is invalid"
        )
    raise damaged_file_error(path, f"it begins as a {title}, but its end is missing", "truncated")


def _begins_with_node(head: bytes) -> bool:
    """A GraphDef is a list of nodes, each beginning with its name and its operator."""
    for number, value in _read_first_fields(head):
        if number != 1 or not isinstance(value, memoryview):
            return False
        node = dict(_read_first_fields(bytes(value)))
        name, op = node.get(1), node.get(2)
        return (
            isinstance(name, memoryview)
            and isinstance(op, memoryview)
            and _NAME.fullmatch(name) is not None
            and _OP.fullmatch(op) is not None
        )
    return False


def _begins_with_meta_graph(encoded: bytes) -> bool:
    """A MetaGraphDef begins with its operators and versions, or directly with its nodes."""
    for number, value in _read_first_fields(encoded):
        if not isinstance(value, memoryview):
            return False
        if number == 2:
            return _begins_with_node(bytes(value))
        if number == 1:
            return all(1 <= field <= 8 for field, _ in _read_first_fields(bytes(value)))
    return False


def _read_first_fields(encoded: bytes) -> list[tuple[int, int | memoryview]]:
    """All fields up to the end of the bytes; the last one may be cut off."""
    first: list[tuple[int, int | memoryview]] = []
    try:
        for field in read_fields(memoryview(encoded)):
            first.append(field)
    except DamagedMessage as error:
        if isinstance(error, TruncatedField) and error.rest is not None:
            first.append(error.rest)
    return first
