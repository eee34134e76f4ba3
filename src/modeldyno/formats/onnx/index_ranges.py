"""The valid values of integer inputs: indices must stay inside the table that they index.

We follow each integer input through operators that pass values on unchanged, into branches, loop
bodies and local functions, until it indexes a table of known size. The smallest size counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modeldyno.core.models import IndexRange
from modeldyno.formats.onnx.messages import iterate_subgraphs, sort_out_functions

if TYPE_CHECKING:
    import onnx

    _Ranges = Iterator[tuple[str, IndexRange]]
    _Functions = Mapping[tuple[str, str], onnx.FunctionProto]

# Operators whose outputs contain (some) values of these inputs; None: of all inputs.
_PASSES: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("Cast", "CastLike", "Identity", "Clip", "Dropout"), (0,)),
    **dict.fromkeys(("Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"), (0,)),
    **dict.fromkeys(("Slice", "Split", "Expand", "Tile", "Pad"), (0,)),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND"), (0,)),
    **dict.fromkeys(("Concat", "Max", "Min"), None),
    "Where": (1, 2),
}
# Operators that keep the number of rows of a table.
_KEEPS_ROWS = ("Identity", "Cast", "DequantizeLinear", "QuantizeLinear")
# In ONNX Runtime's fused embedding: an input of indices, and the table that it indexes.
_FUSED_EMBEDDING = ((0, 2), (1, 4), (8, 3))
_DEEPEST_CALL = 8  # local functions calling each other


@dataclass
class _Scope:
    """What we know about the values that nodes can refer to."""

    carries: dict[str, frozenset[str]]  # name → the graph inputs whose values it contains
    tables: dict[str, onnx.TensorProto] = field(default_factory=dict)  # constants by name
    depth: int = 0

    def make_inner(self) -> _Scope:
        return _Scope(dict(self.carries), dict(self.tables), self.depth + 1)

    def inputs_behind(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self.carries.get(name, frozenset()) for name in names))


def find_index_ranges(model: onnx.ModelProto, inputs: Iterable[str]) -> dict[str, IndexRange]:
    """The range of each named input that provably indexes something."""
    ranges: dict[str, IndexRange] = {}
    functions = sort_out_functions(model).bodies
    scope = _Scope({name: frozenset((name,)) for name in inputs})
    for name, indices in _follow_graph(model.graph, scope, functions):
        if name not in ranges or indices.high < ranges[name].high:
            ranges[name] = indices
    return ranges


def _follow_graph(graph: onnx.GraphProto, scope: _Scope, functions: _Functions) -> _Ranges:
    scope.tables.update({tensor.name: tensor for tensor in graph.initializer})
    yield from _follow_nodes(graph.node, scope, functions)


def _follow_nodes(nodes: Iterable[onnx.NodeProto], scope: _Scope, functions: _Functions) -> _Ranges:
    for node in nodes:
        _note_constant(node, scope)
        for position, indices in _find_index_uses(node, scope):
            for name in scope.inputs_behind(node.input[position : position + 1]):
                yield name, indices
        passed = scope.inputs_behind(_find_inputs_passed_on(node))
        for graph in iterate_subgraphs(node):
            inner = _scope_of_subgraph(node, graph, scope)
            yield from _follow_graph(graph, inner, functions)
            passed |= inner.inputs_behind(output.name for output in graph.output)
        if (node.domain, node.op_type) in functions and scope.depth < _DEEPEST_CALL:
            function = functions[node.domain, node.op_type]
            inner = _scope_of_call(node, list(function.input), scope)
            yield from _follow_nodes(function.node, inner, functions)
            passed |= inner.inputs_behind(function.output)
        if passed:
            scope.carries.update(dict.fromkeys(filter(None, node.output), passed))


def _find_inputs_passed_on(node: onnx.NodeProto) -> list[str]:
    if node.op_type not in _PASSES:
        return []
    positions = _PASSES[node.op_type]
    return [n for i, n in enumerate(node.input) if positions is None or i in positions]


def _scope_of_subgraph(node: onnx.NodeProto, graph: onnx.GraphProto, scope: _Scope) -> _Scope:
    """A branch or body can refer to all outer values; a loop also passes its inputs by position."""
    inner = scope.make_inner()
    for formal, actual in zip(graph.input, node.input, strict=False):
        inner.carries[formal.name] = scope.inputs_behind((actual,))
    return inner


def _scope_of_call(node: onnx.NodeProto, formals: list[str], scope: _Scope) -> _Scope:
    """A function can refer to its arguments only."""
    pairs = list(zip(formals, node.input, strict=False))
    carries = {formal: scope.inputs_behind((actual,)) for formal, actual in pairs}
    tables = {formal: scope.tables[actual] for formal, actual in pairs if actual in scope.tables}
    return _Scope(carries, tables, scope.depth + 1)


def _note_constant(node: onnx.NodeProto, scope: _Scope) -> None:
    if not node.output:
        return
    if node.op_type == "Constant":
        for attribute in node.attribute:
            if attribute.HasField("t"):
                scope.tables[node.output[0]] = attribute.t
    elif node.op_type in _KEEPS_ROWS and node.input and node.input[0] in scope.tables:
        scope.tables[node.output[0]] = scope.tables[node.input[0]]


def _find_index_uses(node: onnx.NodeProto, scope: _Scope) -> Iterator[tuple[int, IndexRange]]:
    """The positions of inputs that are indices, and their valid range."""
    match node.op_type:
        case "Gather" | "GatherElements":
            yield from _range_of_table(
                1, _find_table(node, 0, scope), _axis_attribute(node, "axis")
            )
        case "GatherBlockQuantized":
            yield from _range_of_table(
                1, _find_table(node, 0, scope), _axis_attribute(node, "gather_axis")
            )
        case "EmbedLayerNormalization" | "QEmbedLayerNormalization":
            for position, table in _FUSED_EMBEDDING:
                yield from _range_of_table(position, _find_table(node, table, scope), 0)
        case "OneHot":
            depth = _read_scalar(_find_table(node, 1, scope))
            if depth is not None and depth > 0:
                yield 0, IndexRange(0, depth, f"becomes a one-hot vector of {depth} entries")


def _find_table(node: onnx.NodeProto, position: int, scope: _Scope) -> onnx.TensorProto | None:
    return scope.tables.get(node.input[position]) if position < len(node.input) else None


def _range_of_table(
    position: int, table: onnx.TensorProto | None, axis: int
) -> Iterator[tuple[int, IndexRange]]:
    if table is None or not -len(table.dims) <= axis < len(table.dims):
        return
    rows = table.dims[axis]
    what = "an embedding" if axis == 0 and len(table.dims) == 2 else "a table"
    if rows > 0:
        yield position, IndexRange(0, rows, f"indexes {what} of {rows} rows")


def _axis_attribute(node: onnx.NodeProto, name: str) -> int:
    return next((a.i for a in node.attribute if a.name == name), 0)


def _read_scalar(tensor: onnx.TensorProto | None) -> int | None:
    from onnx import numpy_helper

    if tensor is None or tensor.data_location or math.prod(tensor.dims) != 1:
        return None
    try:
        return int(numpy_helper.to_array(tensor).item())
    except (TypeError, ValueError, OverflowError):  # damaged, or not a number: then no bound
        return None
