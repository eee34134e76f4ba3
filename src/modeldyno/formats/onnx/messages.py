"""ONNX's messages: all nodes and tensors, types by our names, local functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from modeldyno.core.graphs import MOST_NODES
from modeldyno.core.models import Dim, TensorSpec

if TYPE_CHECKING:
    import onnx

# Exporters write these for "anything"; as symbols they would tie unrelated sizes together.
_NOT_A_SYMBOL = ("", "?", "-1", "None")
MOST_WRITTEN_OUT = MOST_NODES  # nodes of all calls, written out
FunctionKey = tuple[str, str]  # domain and name


# ---------------------------------------------------------------- nodes and tensors


def iterate_subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs directly in a node: branches and loop bodies."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def iterate_graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph and all sub-graphs, including those of local functions."""
    yield from _walk_graphs(model.graph)
    for function in model.functions:
        yield from _subgraphs_of_nodes(function.node)


def iterate_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes; those of a local function once, however often it is called."""
    for graph in iterate_graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def iterate_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors in a file, even those that no engine reads: any may name another file."""
    all_graphs = [*iterate_graphs(model)]
    for training in model.training_info:
        all_graphs += [*_walk_graphs(training.initialization)]
        all_graphs += [*_walk_graphs(training.algorithm)]
    for graph in all_graphs:
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
        yield from _attribute_tensors(graph.node)
    for function in model.functions:
        yield from _attribute_tensors(function.node)
        yield from _tensors_of(function.attribute_proto)


def _walk_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    yield from _subgraphs_of_nodes(graph.node)


def _subgraphs_of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    for node in nodes:
        for graph in iterate_subgraphs(node):
            yield from _walk_graphs(graph)


def _attribute_tensors(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        yield from _tensors_of(node.attribute)


def _tensors_of(attributes: Iterable[onnx.AttributeProto]) -> Iterator[onnx.TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        sparse = [*attribute.sparse_tensors]
        if attribute.HasField("sparse_tensor"):
            sparse.append(attribute.sparse_tensor)
        for tensor in sparse:
            yield from (tensor.values, tensor.indices)


# ---------------------------------------------------------------- types


@lru_cache(256)
def dtype_name(elem_type: int) -> str:
    """numpy's name, or ml_dtypes' for the types numpy lacks; "string" for strings."""
    from onnx import TensorProto, helper

    if elem_type == TensorProto.STRING:
        return "string"
    try:
        return helper.tensor_dtype_to_np_dtype(elem_type).name
    except KeyError:
        return "undefined" if elem_type == TensorProto.UNDEFINED else f"unknown({elem_type})"


def element_bits(elem_type: int) -> int:
    """The size of a stored element."""
    name = dtype_name(elem_type)
    for narrow, width in (("int4", 4), ("int2", 2), ("float4", 4), ("float6", 6)):
        if narrow in name:
            return width
    try:
        from onnx import helper

        return 8 * helper.tensor_dtype_to_np_dtype(elem_type).itemsize
    except KeyError:
        return 0


def make_tensor_spec(declared: onnx.ValueInfoProto) -> TensorSpec:
    return TensorSpec(declared.name, _type_name(declared.type), _shape(declared.type))


def _type_name(kind: onnx.TypeProto) -> str:
    """A tensor's dtype; for other types, ``sequence(float32)`` or ``map(int64, float32)``."""
    match kind.WhichOneof("value"):
        case "tensor_type":
            return dtype_name(kind.tensor_type.elem_type)
        case "sequence_type":
            return f"sequence({_type_name(kind.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_type_name(kind.optional_type.elem_type)})"
        case "map_type":
            key = dtype_name(kind.map_type.key_type)
            return f"map({key}, {_type_name(kind.map_type.value_type)})"
        case "sparse_tensor_type":
            return f"sparse({dtype_name(kind.sparse_tensor_type.elem_type)})"
        case "opaque_type":
            return f"opaque({kind.opaque_type.name})"
        case _:
            return "undefined"


def _shape(kind: onnx.TypeProto) -> tuple[Dim, ...] | None:
    """For a sequence or an optional value, the shape of its elements."""
    match kind.WhichOneof("value"):
        case "sequence_type":
            return _shape(kind.sequence_type.elem_type)
        case "optional_type":
            return _shape(kind.optional_type.elem_type)
        case "tensor_type" | "sparse_tensor_type" as name:
            tensor = getattr(kind, name)
            return tuple(map(_read_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
        case _:
            return None


def _read_dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    symbol = dim.dim_param.strip()
    return None if symbol in _NOT_A_SYMBOL else symbol


# ---------------------------------------------------------------- local functions


@dataclass(frozen=True)
class Functions:
    bodies: Mapping[FunctionKey, onnx.FunctionProto]  # without recursive ones
    nodes_written_out: int  # nodes of all calls in the main graph, counted up to the limit

    @property
    def are_too_many(self) -> bool:
        return self.nodes_written_out > MOST_WRITTEN_OUT


def sort_out_functions(model: onnx.ModelProto) -> Functions:
    """Takes time in proportion to the file, not to its calls written out.

    Engines and shape inference inline calls, so a few kilobytes of functions that call functions
    can become billions of nodes.
    """
    definitions: dict[FunctionKey, list[onnx.FunctionProto]] = defaultdict(list)
    for function in model.functions:  # overloads have the same name
        definitions[function.domain, function.name].append(function)
    names = definitions.keys()
    calls = {
        key: [_count_calls(function.node, names) for function in overloads]
        for key, overloads in definitions.items()
    }
    sizes = _expanded_sizes(calls)
    written_out = _expanded_size(_count_calls(model.graph.node, names), sizes) if names else 0
    bodies = {key: definitions[key][-1] for key in sizes}
    return Functions(bodies, written_out)


@dataclass(frozen=True)
class _Calls:
    nodes: int  # including those of branches and loop bodies
    times: Counter[FunctionKey]


def _count_calls(nodes: Iterable[onnx.NodeProto], names: Iterable[FunctionKey]) -> _Calls:
    count, times = 0, Counter[FunctionKey]()
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            count += 1
            if (key := (node.domain, node.op_type)) in names:
                times[key] += 1
            waiting += [graph.node for graph in iterate_subgraphs(node)]
    return _Calls(count, times)


def _expanded_sizes(calls: Mapping[FunctionKey, list[_Calls]]) -> dict[FunctionKey, int]:
    """Nodes of each function with its calls written out, callees first. Omits functions that are
    part of a cycle, or call such a function."""
    callees = {
        key: set().union(*(body.times for body in overloads)) for key, overloads in calls.items()
    }
    callers: dict[FunctionKey, list[FunctionKey]] = defaultdict(list)
    for key, called in callees.items():
        for callee in called:
            callers[callee].append(key)
    missing = {key: len(called) for key, called in callees.items()}
    ready = [key for key, count in missing.items() if not count]
    sizes: dict[FunctionKey, int] = {}
    while ready:
        key = ready.pop()
        sizes[key] = max(body.nodes + _expanded_size(body, sizes) for body in calls[key])
        for caller in callers[key]:
            missing[caller] -= 1
            if not missing[caller]:
                ready.append(caller)
    return sizes


def _expanded_size(calls: _Calls, sizes: Mapping[FunctionKey, int]) -> int:
    """Nodes of its calls, written out; capped, or the number would grow without bounds."""
    total = sum(times * sizes.get(key, 0) for key, times in calls.times.items())
    return min(total, MOST_WRITTEN_OUT + 1)
