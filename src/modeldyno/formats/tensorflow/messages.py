"""TensorFlow's messages (GraphDef, SavedModel), read without TensorFlow.

Only what we tell of a model is taken out; weights are stepped over. Fields are known by their
numbers in TensorFlow's .proto files.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from modeldyno.core.models import Dim
from modeldyno.formats.containers.protobuf import Foreign, packed, signed, values

Shape = tuple[Dim, ...] | None  # None: not even the rank is known
HIGHEST_RANK = 254  # TensorFlow's own

_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32",
    14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128", 19: "float16",
    20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
}  # fmt: skip
_REFERENCE = 100  # added to a type by nodes that hand out a variable itself


def dtype_name(number: int) -> str:
    return _DTYPES.get(number % _REFERENCE, f"type {number}")


# ---------------------------------------------------------------- parts


@dataclass(frozen=True)
class Tensor:
    """A constant, without its values."""

    dtype: str
    shape: Shape

    @property
    def elements(self) -> int:
        return math.prod(dim if isinstance(dim, int) else 0 for dim in self.shape or ())


@dataclass(frozen=True)
class Function:
    """The name of one, as an attribute."""

    name: str


AttributeValue = (
    bool | int | float | str | bytes | Shape | Tensor | Function | tuple[object, ...] | None
)


@dataclass(frozen=True)
class Node:
    name: str
    op: str
    inputs: tuple[str, ...]  # "^name" is one that must run before, and gives nothing
    raw: dict[str, memoryview] = field(repr=False, compare=False)

    @property
    def attributes(self) -> Iterator[tuple[str, str, AttributeValue]]:
        """Name, type and value of each."""
        for name, data in self.raw.items():
            yield name, *_attribute(data)

    def get(self, name: str) -> AttributeValue:
        """An attribute; None where it has none of that name."""
        return _attribute(self.raw[name])[1] if name in self.raw else None

    def dtype(self, name: str) -> str | None:
        """A type among the attributes."""
        if name not in self.raw:
            return None
        kind, value = _attribute(self.raw[name])
        return value if kind == "type" and isinstance(value, str) else None

    def shape(self, name: str) -> Shape:
        if name not in self.raw:
            return None
        kind, value = _attribute(self.raw[name])
        return value if kind == "shape" and isinstance(value, tuple) else None  # type: ignore[return-value]  # of dims

    def function(self, name: str) -> str | None:
        value = self.get(name)
        return value.name if isinstance(value, Function) else None


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
    producer: int | None  # the version of GraphDef that it was written in

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
    """An input or output of a signature: which tensor of the graph it is."""

    tensor: str  # "serving_default_x:0"; empty: sparse or composite, of several tensors
    dtype: str
    shape: Shape


@dataclass(frozen=True)
class Signature:
    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


@dataclass(frozen=True)
class MetaGraph:
    graph: GraphDef
    tags: tuple[str, ...]
    version: str  # of TensorFlow
    signatures: dict[str, Signature]
    assets: tuple[str, ...]  # names of files in its folder "assets"


# ---------------------------------------------------------------- reading them


def graph_def(data: memoryview) -> GraphDef:
    nodes, functions = [], {}
    producer = None
    for number, value in values(data):
        if number == 1:
            nodes.append(_node(_bytes(value)))
        elif number == 2:
            for inner, function in values(_bytes(value)):
                if inner == 1:
                    found = _function(_bytes(function))
                    if found.name in functions:  # readers differ on which of them counts
                        raise Foreign(0)
                    functions[found.name] = found
        elif number == 4:
            numbers = dict(values(_bytes(value)))
            told = numbers.get(1)
            producer = told if isinstance(told, int) else None
    return GraphDef(tuple(nodes), functions, producer)


def meta_graphs(data: memoryview) -> list[MetaGraph]:
    """Of a SavedModel."""
    return [_meta_graph(_bytes(value)) for number, value in values(data) if number == 2]


def _meta_graph(data: memoryview) -> MetaGraph:
    graphs: list[memoryview] = []
    tags: list[str] = []
    version = ""
    signatures: dict[str, Signature] = {}
    assets = []
    for number, value in values(data):
        match number:
            case 1:
                for inner, told in values(_bytes(value)):
                    if inner == 4:
                        tags.append(_text(told))
                    elif inner == 5:
                        version = _text(told)
            case 2:
                graphs.append(_bytes(value))
            case 5:
                name, signature = _entry(_bytes(value))
                signatures[name] = _signature(signature)
            case 6:
                assets += [_text(told) for inner, told in values(_bytes(value)) if inner == 2]
    # A message that is there twice is one: its parts, one after the other, are read as such.
    graph = graphs[0] if len(graphs) == 1 else memoryview(b"".join(graphs))
    return MetaGraph(graph_def(graph), tuple(tags), version, signatures, tuple(assets))


def _signature(data: memoryview) -> Signature:
    inputs: dict[str, TensorInfo] = {}
    outputs: dict[str, TensorInfo] = {}
    for number, value in values(data):
        if number in (1, 2):
            name, info = _entry(_bytes(value))
            (inputs if number == 1 else outputs)[name] = _tensor_info(info)
    return Signature(inputs, outputs)


def _tensor_info(data: memoryview) -> TensorInfo:
    tensor, dtype = "", 0
    shape: Shape = None
    for number, value in values(data):
        if number == 1:
            tensor = _text(value)
        elif number == 2:
            dtype = _int(value)
        elif number == 3:
            shape = _shape(_bytes(value))
    return TensorInfo(tensor, dtype_name(dtype), shape)


def _node(data: memoryview) -> Node:
    name = op = ""
    inputs: list[str] = []
    raw: dict[str, memoryview] = {}
    for number, value in values(data):
        if number == 1:
            name = _text(value)
        elif number == 2:
            op = _text(value)
        elif number == 3:
            inputs.append(_text(value))
        elif number == 5:
            key, held = _entry(_bytes(value))
            raw[key] = held
    return Node(name, op, tuple(inputs), raw)


def _function(data: memoryview) -> FunctionDef:
    name = ""
    arguments: list[str] = []
    declared: list[str] = []
    results: dict[str, str] = {}
    nodes = []
    for number, value in values(data):
        if number == 1:
            for inner, told in values(_bytes(value)):
                if inner == 1:
                    name = _text(told)
                elif inner in (2, 3):
                    (arguments if inner == 2 else declared).append(_name(_bytes(told)))
        elif number == 3:
            nodes.append(_node(_bytes(value)))
        elif number == 4:
            key, held = _entry(_bytes(value))
            results[key] = _decoded(held)
    return FunctionDef(
        name, tuple(arguments), tuple(results.get(one, "") for one in declared), tuple(nodes)
    )


def _attribute(data: memoryview) -> tuple[str, AttributeValue]:
    kind, found = "", None
    for number, value in values(data):
        kind, found = _attribute_value(number, value)
    return kind, found


def _attribute_value(number: int, value: int | memoryview) -> tuple[str, AttributeValue]:
    match number:
        case 1:
            return "list", tuple(_listed(_bytes(value)))
        case 2:
            return "string", _either(_bytes(value))
        case 3:
            return "int", signed(_int(value))
        case 4:
            return "float", _float(_int(value))
        case 5:
            return "bool", bool(value)
        case 6:
            return "type", dtype_name(_int(value))
        case 7:
            return "shape", _shape(_bytes(value))
        case 8:
            return "tensor", _tensor(_bytes(value))
        case 10:
            return "function", Function(_name(_bytes(value)))
        case _:
            return "", None


def _listed(data: memoryview) -> Iterator[object]:
    for number, value in values(data):
        if isinstance(value, memoryview) and number in (3, 5, 6):
            for one in packed(value):
                yield _attribute_value(number, one)[1]
        elif isinstance(value, memoryview) and number == 4:
            yield from (one for (one,) in struct.iter_unpack("<f", value[: len(value) // 4 * 4]))
        else:
            yield _attribute_value(10 if number == 9 else number, value)[1]


def _tensor(data: memoryview) -> Tensor:
    dtype = 0
    shape: Shape = ()
    for number, value in values(data):
        if number == 1:
            dtype = _int(value)
        elif number == 2:
            shape = _shape(_bytes(value))
    return Tensor(dtype_name(dtype), shape)


def _shape(data: memoryview) -> Shape:
    dims: list[Dim] = []
    for number, value in values(data):
        if number == 3 and value:
            return None
        if number == 2:
            sizes = [signed(_int(told)) for inner, told in values(_bytes(value)) if inner == 1]
            size = sizes[-1] if sizes else 0
            dims.append(size if size >= 0 else None)
    return tuple(dims) if len(dims) <= HIGHEST_RANK else None


def _entry(data: memoryview) -> tuple[str, memoryview]:
    """Of a map with names."""
    key, held = "", memoryview(b"")
    for number, value in values(data):
        if number == 1:
            key = _text(value)
        elif number == 2:
            held = _bytes(value)
    return key, held


def _name(data: memoryview) -> str:
    """The last one counts, as it does for every reader of protobuf."""
    name = ""
    for number, value in values(data):
        if number == 1:
            name = _text(value)
    return name


def _either(data: memoryview) -> str | bytes:
    """Text where it is: an attribute may hold a whole serialized message."""
    try:
        return _decoded(data)
    except UnicodeDecodeError:
        return bytes(data[:100])


def _decoded(data: memoryview) -> str:
    return str(data, "utf-8")


def _text(value: int | memoryview) -> str:
    return _decoded(_bytes(value))


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise Foreign(0)
    return value


def _int(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise Foreign(0)
    return value


def _float(bits: int) -> float:
    return float(struct.unpack("<f", (bits & 0xFFFFFFFF).to_bytes(4, "little"))[0])
