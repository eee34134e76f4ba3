"""The graph that ONNX Runtime really runs, read back from the file that it writes after optimising.

Its profiler names kernels and the types of their inputs, but no attributes, and no weights that
were packed or that an operator of their own widens. A worker has no ``onnx`` to read the file with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from modeldyno.core import precisions
from modeldyno.core.node_work import Operand
from modeldyno.graphs.protobuf import DamagedMessage, read_fields, read_packed_varints

# Kernels that multiply packed weights of a few bits, whose number is an attribute …
PACKED = ("MatMulNBits", "MatMulBnb4")
_BITS = 4  # … unless it is left out
_LEVEL = "accuracy_level"
QUANTISES_ACTIVATIONS = 4  # of the accuracy levels; the others leave them as they are
_WEIGHTS = 1  # the place of the weights among the inputs of a packed kernel
# Operators that pass weights on, in a wider type or in another shape.
_WIDENS = ("DequantizeLinear", "Cast")
_PASSES = (*_WIDENS, "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Identity")
# ONNX's numbers of types, by the names in ONNX Runtime's profile.
_TYPES = {
    **{1: "float", 10: "float16", 11: "double", 16: "bfloat16"},
    **{2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 12: "uint32"},
    **{13: "uint64", 21: "uint4", 22: "int4", 25: "uint2", 26: "int2"},
}
_STORED = precisions.NAMES | {"float": "fp32", "double": "fp64"}


@dataclass(frozen=True)
class Weights:
    """Of a node that computes with weights in a type of their own."""

    precision: str  # as stored
    quantises_activations: bool = False
    constants: tuple[Operand, ...] = ()  # of a packed kernel: its inputs that are in the file


@dataclass(frozen=True)
class OptimizedGraph:
    nodes: dict[str, tuple[str, Weights]]  # type and weights, by name; only of such nodes

    def weights(self, name: str, op_type: str) -> Weights | None:
        """Nodes without a name in the file go by another one in the profile, so they count as the
        most frequent of their type."""
        if name in self.nodes:
            return self.nodes[name][1]
        alike = Counter(weights for kind, weights in self.nodes.values() if kind == op_type)
        return next((weights for weights, _ in alike.most_common(1)), None)


def is_needed(kernels: Iterable[dict[str, Any]]) -> bool:
    """Whether the profile of these kernels leaves open how their weights are stored."""
    return any(
        kernel.get("op_name") in PACKED
        or (kernel.get("op_name") in _WIDENS and str(kernel.get("activation_size")) == "0")
        for kernel in kernels
    )


def read(model: bytes) -> OptimizedGraph:
    """Raises ValueError if it is not an ONNX file."""
    reader = _Reader()
    try:
        for number, graph in read_fields(memoryview(model)):
            if number == 7 and isinstance(graph, memoryview):
                reader.add_graph(graph)
    except DamagedMessage as error:
        raise ValueError(str(error)) from error
    return OptimizedGraph(dict(reader.weights()))


@dataclass
class _Node:
    op_type: str = ""
    name: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attributes: dict[str, int] = field(default_factory=dict)  # whole numbers only


class _Reader:
    def __init__(self) -> None:
        self._nodes: list[_Node] = []
        self._constants: dict[str, Operand] = {}
        self._makers: dict[str, _Node] = {}

    def add_graph(self, graph: memoryview) -> None:
        """Its nodes and those of its branches: their names for outer values are the outer ones."""
        for number, content in read_fields(graph):
            if not isinstance(content, memoryview):
                continue
            if number == 1:
                self._add_node(content)
            elif number == 5:
                name, constant = _constant(content)
                self._constants[name] = constant

    def weights(self) -> Iterator[tuple[str, tuple[str, Weights]]]:
        for place, node in enumerate(self._nodes):
            weights = self._packed(node) if node.op_type in PACKED else self._widened(node)
            if weights is not None:
                yield node.name or f"{place}", (node.op_type, weights)

    def _packed(self, node: _Node) -> Weights:
        bits = node.attributes.get("bits", _BITS)
        rows, columns = node.attributes.get("K", 0), node.attributes.get("N", 0)
        if node.op_type == "MatMulBnb4":
            stored, kind = ("fp4", "nf4")[node.attributes.get("quant_type", 0) == 1], "float4"
        else:
            stored, kind = f"int{bits}", f"uint{bits}"
        constants = [Operand(kind, (rows, columns))] if rows * columns else []
        beside = (self._constants.get(name) for name in node.inputs[_WEIGHTS + 1 :])
        return Weights(
            stored,
            node.attributes.get(_LEVEL) == QUANTISES_ACTIVATIONS,
            (*constants, *filter(None, beside)),
        )

    def _widened(self, node: _Node) -> Weights | None:
        if node.op_type in _PASSES:
            return None
        stored = (self._stored_type(name) for name in node.inputs)
        kind = next((_STORED[kind] for kind in stored if kind in _STORED), None)
        return None if kind is None else Weights(kind)

    def _stored_type(self, name: str) -> str | None:
        """Of a constant that is widened before its use; None for anything else."""
        is_widened = False
        for _ in self._nodes:  # a damaged file may have a cycle
            maker = self._makers.get(name)
            if maker is None or maker.op_type not in _PASSES or not maker.inputs:
                break
            is_widened = is_widened or maker.op_type in _WIDENS
            name = maker.inputs[0]
        constant = self._constants.get(name)
        return constant.dtype if constant is not None and is_widened else None

    def _add_node(self, message: memoryview) -> None:
        node = _Node()
        for number, content in read_fields(message):
            if not isinstance(content, memoryview):
                continue
            match number:
                case 1:
                    node.inputs.append(_text(content))
                case 2:
                    node.outputs.append(_text(content))
                case 3:
                    node.name = _text(content)
                case 4:
                    node.op_type = _text(content)
                case 5:
                    self._add_attribute(node, content)
        self._nodes.append(node)
        self._makers.update(dict.fromkeys(filter(None, node.outputs), node))

    def _add_attribute(self, node: _Node, message: memoryview) -> None:
        name = ""
        for number, content in read_fields(message):
            if number == 1 and isinstance(content, memoryview):
                name = _text(content)
            elif number == 3 and isinstance(content, int):
                node.attributes[name] = content
            elif number in (6, 11) and isinstance(content, memoryview):
                self.add_graph(content)


def _constant(message: memoryview) -> tuple[str, Operand]:
    name, kind, dims = "", 0, []
    for number, content in read_fields(message):
        if number == 1:
            dims += [content] if isinstance(content, int) else [*read_packed_varints(content)]
        elif number == 2 and isinstance(content, int):
            kind = content
        elif number == 8 and isinstance(content, memoryview):
            name = _text(content)
    return name, Operand(_TYPES.get(kind, f"type {kind}"), tuple(dims))


def _text(content: memoryview) -> str:
    return bytes(content).decode("utf-8", "replace")
