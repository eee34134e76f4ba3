"""An ONNX file as protobuf's message: whole, or without the weights in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from modeldyno.formats.containers.protobuf import read_file_fields, require_protobuf_size
from modeldyno.formats.refusals import damaged_file_error
from modeldyno.graphs.protobuf import DamagedMessage, Field, NotProtobuf, TruncatedField, Wire

if TYPE_CHECKING:
    import onnx

# Numbers of fields in onnx.proto.
_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_DATA = (4, 5, 6, 7, 9, 10, 11)  # of TensorProto: raw_data and its typed siblings
# Larger tensors are weights: no operator reads a shape from more than a kilobyte of numbers.
LARGEST_CONSTANT = 1024  # bytes


@contextmanager
def decoding_names(path: Path) -> Iterator[None]:
    """Raises ModelUnreadable for a name that is not text: protobuf decodes names on access."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged_file_error(path, "a name in it is not UTF-8 text") from error


def parse(path: Path) -> onnx.ModelProto:
    """The whole file, without the weights beside it; raises ModelUnreadable."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # has no types

    _require_size(path)
    try:
        return onnx.load(path, format="protobuf", load_external_data=False)
    except DecodeError as error:
        raise damaged_file_error(path, _describe_damage(path), "a damaged ONNX model") from error


def _require_size(path: Path) -> None:
    fix = "Export it with external data: onnx.save(model, path, save_as_external_data=True)"
    require_protobuf_size(path, "ONNX file", fix)


# ---------------------------------------------------------------- without weights


def parse_without_weights(path: Path) -> onnx.ModelProto:
    """As ``parse``, but of initializers above a kilobyte only types and shapes.

    The file is copied field by field, so a gigabyte of weights takes no memory.
    """
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    _require_size(path)
    try:
        with path.open("rb") as file:
            model: onnx.ModelProto = ModelProto.FromString(_copy_model(file, path.stat().st_size))
    except (DamagedMessage, DecodeError):  # DamagedMessage also for too many fields
        return parse(path)
    return model


def _copy_model(file: BinaryIO, size: int) -> bytes:
    out = bytearray()
    for begin, field in _fields_with_offsets(file, 0, size):
        if field.number == _GRAPH and field.wire is Wire.BYTES:
            out += _encode_message(_GRAPH, _copy_graph(file, field))
        else:
            out += _read_field(file, begin, field)
    return bytes(out)


def _copy_graph(file: BinaryIO, graph: Field) -> bytes:
    out = bytearray()
    for begin, field in _fields_with_offsets(file, graph.start, graph.start + graph.length):
        is_weight = field.number == _INITIALIZER and field.wire is Wire.BYTES
        if is_weight and field.length > LARGEST_CONSTANT:
            out += _encode_message(_INITIALIZER, _copy_tensor(file, field))
        else:
            out += _read_field(file, begin, field)
    return bytes(out)


def _copy_tensor(file: BinaryIO, tensor: Field) -> bytes:
    placed = _fields_with_offsets(file, tensor.start, tensor.start + tensor.length)
    return b"".join(_read_field(file, begin, f) for begin, f in placed if f.number not in _DATA)


def _fields_with_offsets(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, Field]]:
    """Each field, with the offset at which its tag begins."""
    begin = start
    for field in read_file_fields(file, start, end):
        yield begin, field
        begin = field.start + field.length


def _read_field(file: BinaryIO, begin: int, field: Field) -> bytes:
    file.seek(begin)
    return file.read(field.start + field.length - begin)


def _encode_message(number: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while left >= 0x80:
        length.append(left & 0x7F | 0x80)
        left >>= 7
    length.append(left)
    return bytes([number << 3 | Wire.BYTES]) + length + body


# ---------------------------------------------------------------- damage


def _describe_damage(path: Path) -> str:
    """The innermost place that makes no sense; protobuf itself does not report it."""
    from onnx import ModelProto

    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            damage = _find_damage(file, ModelProto.DESCRIPTOR, 0, size, "the model")
    except RecursionError:
        return "its graphs are nested too deeply"
    return damage or "protobuf cannot read it"


def _find_damage(file: BinaryIO, message: Any, start: int, end: int, where: str) -> str | None:
    counts: dict[int, int] = {}
    try:
        for field in read_file_fields(file, start, end):
            index = counts.get(field.number, 0)
            counts[field.number] = index + 1
            damage = _find_damage_in(file, message, field, index)
            if damage is not None:
                return damage
    except NotProtobuf as error:
        return f"byte {error.offset}, in {where}, makes no sense"
    except TruncatedField as error:
        place = error.field.start if error.field else end
        return f"byte {place}, in {where}, begins a field that is longer than what holds it"
    return None


def _find_damage_in(file: BinaryIO, message: Any, field: Field, index: int) -> str | None:
    known = message.fields_by_number.get(field.number)
    if known is None or known.message_type is None or field.wire is not Wire.BYTES:
        return None
    where = f"{message.name}.{known.name}[{index}]"
    return _find_damage(file, known.message_type, field.start, field.start + field.length, where)
