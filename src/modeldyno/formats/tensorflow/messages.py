"""TensorFlow's messages (GraphDef, SavedModel), read without TensorFlow.

Only what we report is read; weights are skipped. Field numbers are those of TensorFlow's .proto
files.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from modeldyno.core.models import Dim
from modeldyno.graphs.protobuf import NotProtobuf, read_fields, read_packed_varints, to_signed

Shape = tuple[Dim, ...] | None  # None: the rank is unknown
HIGHEST_RANK = 254  # TensorFlow's own

_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32",
    14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128", 19: "float16",
    20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
}  # fmt: skip
_REFERENCE = 100  # added to the type of a reference to a variable


def dtype_name(number: int) -> str:
    return _DTYPES.get(number % _REFERENCE, f"type {number}")


# ---------------------------------------------------------------- parts


@dataclass(frozen=True)
class ConstantTensor:
    """A constant, without its values."""

    dtype: str
    shape: Shape

    @property
    def elements(self) -> int:
        return math.prod(dim if isinstance(dim, int) else 0 for dim in self.shape or ())


@dataclass(frozen=True)
class FunctionName:
    """An attribute that names a function."""

    name: str


AttributeValue = (
    bool
    | int
    | float
    | str
    | bytes
    | Shape
    | ConstantTensor
    | FunctionName
    | tuple[object, ...]
    | None
)


@dataclass(frozen=True)
class Node:
    name: str
    op: str
    inputs: tuple[str, ...]  # "^name": a node that only has to run before
    raw: dict[str, memoryview] = field(repr=False, compare=False)

    @property
    def attributes(self) -> Iterator[tuple[str, str, AttributeValue]]:
        """Name, type and value of each."""
        for name, encoded in self.raw.items():
            yield name, *_parse_attribute(encoded)

    def get(self, name: str) -> AttributeValue:
        """An attribute's value; None if absent."""
        return self._typed_attribute(name)[1]

    def dtype(self, name: str) -> str | None:
        """The value of an attribute that is a type."""
        kind, dtype = self._typed_attribute(name)
        return dtype if kind == "type" and isinstance(dtype, str) else None

    def shape(self, name: str) -> Shape:
        kind, shape = self._typed_attribute(name)
        return shape if kind == "shape" and isinstance(shape, tuple) else None  # type: ignore[return-value]  # of dims

    def _typed_attribute(self, name: str) -> tuple[str, AttributeValue]:
        return _parse_attribute(self.raw[name]) if name in self.raw else ("", None)

    def function(self, name: str) -> str | None:
        value = self.get(name)
        return value.name if isinstance(value, FunctionName) else None


@dataclass(frozen=True)
class FunctionDef:
    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]  # tensors, in the order of the outputs
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class GraphDef:
    nodes: tuple[Node, ...]
    functions: dict[str, FunctionDef]
    producer: int | None  # the version of GraphDef that wrote it

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @property
    def every_node(self) -> Iterator[Node]:
        yield from self.nodes
        for function in self.functions.values():
            yield from function.nodes


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a signature, and its tensor in the graph."""

    tensor: str  # "serving_default_x:0"; empty: sparse or composite, made of several tensors
    dtype: str
    shape: Shape


@dataclass(frozen=True)
class SignatureDef:
    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


@dataclass(frozen=True)
class MetaGraph:
    graph: GraphDef
    tags: tuple[str, ...]
    version: str  # of TensorFlow
    signatures: dict[str, SignatureDef]
    assets: tuple[str, ...]  # names of files in its folder "assets"


# ---------------------------------------------------------------- decoding

_Field = int | memoryview


class _WireMessage:
    """The fields of a message with these numbers, in order."""

    def __init__(self, encoded: _Field, *numbers: int) -> None:
        self._fields: dict[int, list[_Field]] = {number: [] for number in numbers}
        for number, content in read_fields(_require_bytes(encoded)):
            if number in self._fields:
                self._fields[number].append(content)

    def messages_of(self, number: int) -> list[memoryview]:
        return [_require_bytes(content) for content in self._fields[number]]

    def texts(self, number: int) -> tuple[str, ...]:
        return tuple(map(_decode_text, self.messages_of(number)))

    def last(self, number: int) -> memoryview | None:
        """Of a field that should not repeat, the last one counts, as in all readers of protobuf."""
        return _require_bytes(self._fields[number][-1]) if self._fields[number] else None

    def text(self, number: int) -> str:
        return _decode_text(self.last(number) or memoryview(b""))

    def integer(self, number: int) -> int:
        return _to_signed_int(self._fields[number][-1]) if self._fields[number] else 0

    def entries(self, number: int) -> Iterator[tuple[str, memoryview]]:
        """The entries of a map with string keys."""
        for encoded in self.messages_of(number):
            entry = _WireMessage(encoded, 1, 2)
            yield entry.text(1), entry.last(2) or memoryview(b"")


def parse_graph_def(encoded: memoryview) -> GraphDef:
    message = _WireMessage(encoded, 1, 2, 4)
    functions: dict[str, FunctionDef] = {}
    for library in message.messages_of(2):
        for function in map(_parse_function, _WireMessage(library, 1).messages_of(1)):
            if function.name in functions:  # readers differ on which one counts
                raise NotProtobuf(0)
            functions[function.name] = function
    versions = message.last(4)
    producer = _WireMessage(versions, 1).integer(1) if versions is not None else 0
    return GraphDef(tuple(map(_parse_node, message.messages_of(1))), functions, producer or None)


def parse_meta_graphs(encoded: memoryview) -> list[MetaGraph]:
    """The graphs of a SavedModel."""
    return [_parse_meta_graph(meta) for meta in _WireMessage(encoded, 2).messages_of(2)]


def _parse_meta_graph(encoded: memoryview) -> MetaGraph:
    message = _WireMessage(encoded, 1, 2, 5, 6)
    infos = [_WireMessage(info, 4, 5) for info in message.messages_of(1)]
    graphs = message.messages_of(2)
    # Protobuf merges a message that occurs twice.
    graph = graphs[0] if len(graphs) == 1 else memoryview(b"".join(graphs))
    return MetaGraph(
        parse_graph_def(graph),
        tuple(tag for info in infos for tag in info.texts(4)),
        next((version for info in reversed(infos) if (version := info.text(5))), ""),
        {name: _parse_signature(signature) for name, signature in message.entries(5)},
        tuple(name for asset in message.messages_of(6) for name in _WireMessage(asset, 2).texts(2)),
    )


def _parse_signature(encoded: memoryview) -> SignatureDef:
    message = _WireMessage(encoded, 1, 2)
    inputs, outputs = (
        {name: _parse_tensor_info(info) for name, info in message.entries(side)} for side in (1, 2)
    )
    return SignatureDef(inputs, outputs)


def _parse_tensor_info(encoded: memoryview) -> TensorInfo:
    message = _WireMessage(encoded, 1, 2, 3)
    shape = message.last(3)
    return TensorInfo(
        message.text(1),
        dtype_name(message.integer(2)),
        None if shape is None else _parse_shape(shape),
    )


def _parse_node(encoded: memoryview) -> Node:
    message = _WireMessage(encoded, 1, 2, 3, 5)
    return Node(message.text(1), message.text(2), message.texts(3), dict(message.entries(5)))


def _parse_function(encoded: memoryview) -> FunctionDef:
    message = _WireMessage(encoded, 1, 3, 4)
    signature = _WireMessage(memoryview(b"".join(message.messages_of(1))), 1, 2, 3)
    results = {name: _decode_text(tensor) for name, tensor in message.entries(4)}
    arguments, declared = (
        [_parse_name(argument) for argument in signature.messages_of(n)] for n in (2, 3)
    )
    return FunctionDef(
        signature.text(1),
        tuple(arguments),
        tuple(results.get(name, "") for name in declared),
        tuple(map(_parse_node, message.messages_of(3))),
    )


def _parse_attribute(encoded: memoryview) -> tuple[str, AttributeValue]:
    kind, value = "", None
    for number, content in read_fields(encoded):
        kind, value = _parse_attribute_value(number, content)
    return kind, value


def _parse_attribute_value(number: int, content: _Field) -> tuple[str, AttributeValue]:
    match number:
        case 1:
            return "list", tuple(_parse_list(_require_bytes(content)))
        case 2:
            return "string", _decode_if_text(_require_bytes(content))
        case 3:
            return "int", to_signed(_to_signed_int(content))
        case 4:
            return "float", _bits_to_float(_to_signed_int(content))
        case 5:
            return "bool", bool(content)
        case 6:
            return "type", dtype_name(_to_signed_int(content))
        case 7:
            return "shape", _parse_shape(_require_bytes(content))
        case 8:
            return "tensor", _parse_tensor(_require_bytes(content))
        case 10:
            return "function", FunctionName(_parse_name(_require_bytes(content)))
        case _:
            return "", None


def _parse_list(encoded: memoryview) -> Iterator[object]:
    for number, content in read_fields(encoded):
        if isinstance(content, memoryview) and number in (3, 5, 6):
            for element in read_packed_varints(content):
                yield _parse_attribute_value(number, element)[1]
        elif isinstance(content, memoryview) and number == 4:
            whole = content[: len(content) // 4 * 4]
            yield from (element for (element,) in struct.iter_unpack("<f", whole))
        else:
            yield _parse_attribute_value(10 if number == 9 else number, content)[1]


def _parse_tensor(encoded: memoryview) -> ConstantTensor:
    message = _WireMessage(encoded, 1, 2)
    shape = message.last(2)
    return ConstantTensor(
        dtype_name(message.integer(1)), () if shape is None else _parse_shape(shape)
    )


def _parse_shape(encoded: memoryview) -> Shape:
    dims: list[Dim] = []
    for number, content in read_fields(encoded):
        if number == 3 and content:
            return None
        if number == 2:
            size = to_signed(_WireMessage(content, 1).integer(1))
            dims.append(size if size >= 0 else None)
    return tuple(dims) if len(dims) <= HIGHEST_RANK else None


def _parse_name(encoded: memoryview) -> str:
    return _WireMessage(encoded, 1).text(1)


def _decode_if_text(encoded: memoryview) -> str | bytes:
    """An attribute may hold a whole serialized message."""
    try:
        return _decode_text(encoded)
    except UnicodeDecodeError:
        return bytes(encoded[:100])


def _decode_text(encoded: memoryview) -> str:
    return str(encoded, "utf-8")


def _require_bytes(content: _Field) -> memoryview:
    if isinstance(content, int):
        raise NotProtobuf(0)
    return content


def _to_signed_int(content: _Field) -> int:
    if not isinstance(content, int):
        raise NotProtobuf(0)
    return content


def _bits_to_float(bits: int) -> float:
    return float(struct.unpack("<f", (bits & 0xFFFFFFFF).to_bytes(4, "little"))[0])
