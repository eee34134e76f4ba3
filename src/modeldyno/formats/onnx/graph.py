"""ONNX: its graph, node by node. Weights are named, not read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.core.graphs import MOST_NODES, Graph, TensorKind
from modeldyno.core.models import TensorSpec
from modeldyno.formats import name_scopes
from modeldyno.formats.digest import sha256
from modeldyno.formats.graph_building import (
    DEEPEST_BODY,
    GraphBuilder,
    Names,
    check_order,
    too_many_nodes,
)
from modeldyno.formats.onnx.attributes import attributes
from modeldyno.formats.onnx.model import undecodable
from modeldyno.formats.onnx.shape_inference import drop_weights, with_shapes
from modeldyno.formats.onnx.skeleton import parse_without_weights
from modeldyno.formats.onnx.traversal import graphs
from modeldyno.formats.onnx.types import dtype_name, tensor_spec
from modeldyno.formats.plain_text import decoded

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

_OWN_DOMAINS = ("", "ai.onnx")
# What shape inference calls a size that it does not know.
_INVENTED = "unk__"


def read_graph(path: Path, infer_shapes: bool = True) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable when the graph is too large."""
    try:
        return _read(path, infer_shapes)
    except UnicodeDecodeError as error:
        raise undecodable(path) from error


def _read(path: Path, infer_shapes: bool) -> Graph:
    model = parse_without_weights(path)
    count = sum(len(graph.node) for graph in graphs(model))
    count += sum(len(function.node) for function in model.functions)
    if count > MOST_NODES:
        raise too_many_nodes(path, count)
    drop_weights(model)
    note = ""
    if infer_shapes:
        model, note = with_shapes(model)
    return _Reader(path, model).read(note)


class _Reader:
    def __init__(self, path: Path, model: ModelProto) -> None:
        self._path = path
        self._model = model
        self._builder = GraphBuilder(path)
        self._functions = {(f.domain, f.name): f for f in model.functions}
        self._unshaped = 0

    def read(self, note: str) -> Graph:
        graph = self._model.graph
        if note:
            self._builder.note(note)
        inputs, outputs = self._graph(graph, Names(), (), "input", 0)
        for function in self._functions.values():
            self._function(function)
        if self._unshaped:
            self._builder.note(f"{self._unshaped} tensors have no known shape")
        made = self._builder.finish("onnx", sha256(self._path), graph.name, inputs, outputs)
        return check_order(made)

    def _graph(
        self,
        graph: GraphProto,
        names: Names,
        parts: tuple[str, ...],
        input_kind: TensorKind,
        depth: int,
    ) -> tuple[list[str], list[str]]:
        """The ids of its inputs and outputs."""
        types = {v.name: _spec(v) for v in (*graph.value_info, *graph.input, *graph.output)}
        weights = [*graph.initializer]
        for weight in weights:
            self._weight(names, weight.name, weight.data_type, weight.dims)
        for sparse in graph.sparse_initializer:
            self._weight(names, sparse.values.name, sparse.values.data_type, sparse.dims)
        inputs = []
        for value in graph.input:
            if value.name not in names:
                self._declare(names, value.name, input_kind, types)
                found = names.find(value.name)
                assert found is not None
                inputs.append(found)
        self._nodes(graph.node, names, types, parts, depth)
        return inputs, [self._taken(names, value.name) for value in graph.output]

    def _function(self, function: FunctionProto) -> None:
        """A function sees its arguments and nothing else; its body is there once."""
        names = Names()
        parts = (_function_part(function),)
        types = {value.name: _spec(value) for value in function.value_info}
        for name in dict.fromkeys(function.input):
            self._declare(names, name, "argument", types)
        self._nodes(function.node, names, types, parts, 0)
        self._builder.body(
            self._builder.scope(parts),
            function.name,
            "function",
            [self._taken(names, name) for name in function.input],
            [self._taken(names, name) for name in function.output],
        )

    # ------------------------------------------------------------ nodes

    def _nodes(
        self,
        nodes: Iterable[NodeProto],
        names: Names,
        types: dict[str, TensorSpec],
        parts: tuple[str, ...],
        depth: int,
    ) -> None:
        listed = list(nodes)
        made = [self._made(node, names, types) for node in listed]  # all, before any is taken
        for position, (node, outputs) in enumerate(zip(listed, made, strict=True)):
            id_ = self._builder.node_id(node.name, node.op_type, position)
            own = (*parts, *_without(parts, _scope_of(node)))
            self._builder.node(
                id_,
                node.op_type,
                "" if node.domain in _OWN_DOMAINS else node.domain,
                node.name,
                self._builder.scope(own),
                [self._taken(names, name) if name else "" for name in node.input],
                outputs,
                attributes(node.attribute),
                self._bodies(node, own, id_),
            )
            self._enter(node, names, own, id_, depth + 1)

    def _made(self, node: NodeProto, names: Names, types: dict[str, TensorSpec]) -> list[str]:
        made = []
        for name in node.output:
            if not name:
                made.append("")
                continue
            if name in names:
                self._builder.note("a tensor is made twice: engines will refuse the model")
            self._declare(names, name, "node", types)
            made.append(self._taken(names, name))
        return made

    def _bodies(self, node: NodeProto, parts: tuple[str, ...], id_: str) -> list[str]:
        """Scopes of what the node runs inside."""
        function = self._functions.get((node.domain, node.op_type))
        if function is not None:
            return [self._builder.scope((_function_part(function),))]
        return [self._builder.scope((*parts, part)) for part, _ in _subgraphs(node, id_)]

    def _enter(
        self, node: NodeProto, names: Names, parts: tuple[str, ...], id_: str, depth: int
    ) -> None:
        for part, graph in _subgraphs(node, id_):
            if depth > DEEPEST_BODY:
                self._builder.note(f"sub-graphs nested deeper than {DEEPEST_BODY} are left out")
                return
            inner = (*parts, part)
            inputs, outputs = self._graph(graph, Names(names), inner, "argument", depth)
            self._builder.body(self._builder.scope(inner), graph.name, "subgraph", inputs, outputs)

    # ------------------------------------------------------------ tensors

    def _weight(self, names: Names, name: str, elem_type: int, dims: Iterable[int]) -> None:
        if name not in names:
            names[name] = self._builder.tensor(
                name, "initializer", dtype_name(elem_type), tuple(dims)
            )

    def _declare(
        self, names: Names, name: str, kind: TensorKind, types: dict[str, TensorSpec]
    ) -> None:
        spec = types.get(name)
        dtype = None if spec is None or spec.dtype == "undefined" else spec.dtype
        shape = None if spec is None else spec.shape
        self._unshaped += shape is None
        names[name] = self._builder.tensor(name, kind, dtype, shape)

    def _taken(self, names: Names, name: str) -> str:
        found = names.find(name)
        if found is None:
            self._builder.note("it uses tensors that nothing makes: engines will refuse it")
            found = self._builder.tensor(name, "missing", None, None)
            names[name] = found
        return found


def _subgraphs(node: NodeProto, id_: str) -> list[tuple[str, GraphProto]]:
    """``If_3[then_branch]``: the brackets keep it apart from scopes of names."""
    label = id_.rpartition("/")[2] or node.op_type
    found = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found.append((f"{label}[{attribute.name}]", attribute.g))
        for number, graph in enumerate(attribute.graphs):
            found.append((f"{label}[{attribute.name}.{number}]", graph))
    return found


def _function_part(function: FunctionProto) -> str:
    return f"{function.domain}.{function.name}()" if function.domain else f"{function.name}()"


def _scope_of(node: NodeProto) -> tuple[str, ...]:
    said = {decoded(entry.key): decoded(entry.value) for entry in node.metadata_props}
    noted = name_scopes.from_metadata(said) if said else None
    if noted is not None:
        return noted
    return name_scopes.from_name(node.name or next(iter(node.output), ""))


def _without(around: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
    """Names inside a body may repeat the scopes that the body lies in."""
    plain = tuple(part for part in around if not part.endswith("]"))
    return parts[len(plain) :] if plain and parts[: len(plain)] == plain else parts


def _spec(value: ValueInfoProto) -> TensorSpec:
    spec = tensor_spec(value)
    if spec.shape is None:
        return spec
    known = tuple(
        None if isinstance(dim, str) and dim.startswith(_INVENTED) else dim for dim in spec.shape
    )
    return TensorSpec(spec.name, spec.dtype, known)
