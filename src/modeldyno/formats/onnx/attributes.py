"""Attributes of ONNX nodes with their values; what is large is described, never dumped."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from modeldyno.core.graphs import Attribute, Scalar
from modeldyno.formats.onnx.types import dtype_name
from modeldyno.formats.plain_text import decoded

if TYPE_CHECKING:
    from onnx import AttributeProto, TensorProto

MOST_ITEMS = 32
FIRST_ITEMS = 8  # of a longer list
MOST_ELEMENTS = 16  # of a tensor
LONGEST_TEXT = 256
MOST_ATTRIBUTES = 64  # of one node; the standard's longest list has a dozen
_LONGEST_NAME = 100
_HIGHEST_RANK = 64


def attributes(protos: Sequence[AttributeProto]) -> list[Attribute]:
    found = [attribute(proto) for proto in protos[:MOST_ATTRIBUTES]]
    left_out = len(protos) - MOST_ATTRIBUTES
    if left_out > 0:
        found.append(Attribute("…", "undefined", None, f"{left_out} more attributes"))
    return found


def attribute(proto: AttributeProto) -> Attribute:
    name, kind = decoded(proto.name)[:_LONGEST_NAME], _kind(proto)
    if proto.ref_attr_name:
        asked = decoded(proto.ref_attr_name)[:_LONGEST_NAME]
        return Attribute(name, kind, None, f"what its caller says of {asked}")
    match kind:
        case "int":
            return Attribute(name, kind, proto.i)
        case "float":
            return Attribute(name, kind, number(proto.f))
        case "string":
            return _text(name, proto.s)
        case "ints":
            return _list(name, kind, proto.ints)
        case "floats":
            return _list(name, kind, proto.floats)
        case "strings":
            return _list(name, kind, proto.strings)
        case "tensor":
            return _tensor(name, proto.t)
        case "sparse_tensor":
            sparse = proto.sparse_tensor
            dtype = dtype_name(sparse.values.data_type)
            return Attribute(name, kind, None, "not shown", dtype, _shape(sparse.dims))
        case "tensors" | "sparse_tensors" | "graphs" | "type_protos":
            return Attribute(name, kind, None, f"{len(getattr(proto, kind))} of them")
        case "graph":
            return Attribute(name, kind, None, "its nodes are in a group of their own")
        case _:
            return Attribute(name, kind, None, "not shown")


def _kind(proto: AttributeProto) -> str:
    from onnx import AttributeProto

    if proto.type in AttributeProto.AttributeType.values() and proto.type:
        return str(AttributeProto.AttributeType.Name(proto.type)).lower()
    fields = {"f": "float", "i": "int", "s": "string", "t": "tensor", "g": "graph"}
    for field, kind in fields.items():  # files before IR version 2 do not say their type
        if proto.HasField(field):
            return kind
    for field in ("floats", "ints", "strings", "tensors", "graphs"):
        if len(getattr(proto, field)):
            return field
    return "undefined"


def _text(name: str, data: bytes) -> Attribute:
    value, note = text(data)
    return Attribute(name, "string", value, note)


def text(data: bytes) -> tuple[str | None, str]:
    """Short text as it is; of all else, how much there is."""
    try:
        whole = data[: 4 * LONGEST_TEXT + 4].decode("utf-8", "strict" if _fits(data) else "ignore")
    except UnicodeDecodeError:
        return None, f"{len(data)} bytes that are not text"
    if _fits(data) and len(whole) <= LONGEST_TEXT:
        return whole, ""
    return whole[:LONGEST_TEXT], f"the beginning of {len(data)} bytes"


def _fits(data: bytes) -> bool:
    return len(data) <= 4 * LONGEST_TEXT


def _list(name: str, kind: str, values: Sequence[Any]) -> Attribute:
    shown = values[: MOST_ITEMS if len(values) <= MOST_ITEMS else FIRST_ITEMS]
    note = "" if len(values) <= MOST_ITEMS else f"the first {FIRST_ITEMS} of {len(values)}"
    return Attribute(name, kind, tuple(_item(value) for value in shown), note)


def _item(value: Any) -> Scalar:
    if isinstance(value, bytes):
        found, note = text(value)
        return note if found is None else found
    return number(value) if isinstance(value, float) else int(value)


def _tensor(name: str, tensor: TensorProto) -> Attribute:
    dtype, shape = dtype_name(tensor.data_type), _shape(tensor.dims)
    count = math.prod(tensor.dims) if shape is not None else MOST_ELEMENTS + 1
    if min(tensor.dims, default=0) < 0 or count > MOST_ELEMENTS or tensor.data_location:
        return Attribute(name, "tensor", None, f"{count} elements, not shown", dtype, shape)
    values = _elements(tensor)
    note = "its elements cannot be read" if values is None else ""
    return Attribute(name, "tensor", values, note, dtype, shape)


def _elements(tensor: TensorProto) -> tuple[Scalar, ...] | None:
    from onnx import numpy_helper

    try:
        flat = numpy_helper.to_array(tensor).ravel().tolist()
        return tuple(_element(value) for value in flat)
    except Exception:  # noqa: BLE001 - a damaged tensor fails in a dozen ways; none matters here
        return None


def _element(value: Any) -> Scalar:
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, bytes):
        return _item(value)
    if isinstance(value, (str, complex)):
        return str(value)[:LONGEST_TEXT]
    return number(float(value))


def number(value: float) -> Scalar:
    """As JSON can have it; a 32-bit float with no more digits than it has."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if abs(value) < 3e38:
        single = struct.unpack("f", struct.pack("f", value))[0]
        for digits in (6, 7, 8) if single == value else ():
            short = float(f"{value:.{digits}g}")
            if struct.unpack("f", struct.pack("f", short))[0] == value:
                return short
    return value


def _shape(dims: Iterable[int]) -> tuple[int, ...] | None:
    sizes = tuple(dims)
    return sizes if len(sizes) <= _HIGHEST_RANK else None
