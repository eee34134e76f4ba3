"""The graph of a TensorFlow model, function calls written out, without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from modeldyno.core.graphs import Attribute, Graph, TensorKind
from modeldyno.core.models import Dim, ModelFormat, TensorSpec
from modeldyno.formats import name_scopes
from modeldyno.formats.graph_attributes import LONGEST_NAME, MOST_ATTRIBUTES, scalar, text_attribute
from modeldyno.formats.graph_building import Ends, GraphBuilder, NestedGraph, Parts, too_many_nodes
from modeldyno.formats.tensorflow import saved_model
from modeldyno.formats.tensorflow.frozen_graph import (
    CONSTANT,
    NO_OPERATORS,
    PLACEHOLDERS,
    VARIABLES,
    ModelGraph,
    dtype_of,
    producer_key,
    reading,
    shape_of,
    whole_graph,
)
from modeldyno.formats.tensorflow.inlining import (
    FlatBody,
    FlatNode,
    InlinedGraph,
    TooLarge,
    inline_calls,
)
from modeldyno.formats.tensorflow.messages import AttributeValue, ConstantTensor, graph_def


def read_graph(path: Path) -> Graph:
    """Of a frozen graph; raises ModelUnreadable, or GraphUnavailable if it is too large."""
    with reading(path) as data:
        return _graph(path, whole_graph(graph_def(data)), "tf-graph")


def read_saved_model(path: Path, signature: str = "") -> Graph:
    """The graph that a signature computes; raises as ``read_graph`` does."""
    with reading(path) as data:
        meta = saved_model.serving_graph(path, data)
        name = saved_model.choose_signature(path, meta, signature)
        return _graph(path, saved_model.graph_of_signature(meta, name), saved_model.FORMAT)


def _graph(path: Path, model: ModelGraph, model_format: ModelFormat) -> Graph:
    try:
        flat = inline_calls(model.graph, model.nodes)
    except TooLarge as error:
        raise too_many_nodes(path, error.nodes + 1) from error
    reader = _TensorFlowGraphReader(path, flat)
    inputs = [reader.add_input(key, spec) for key, spec in model.inputs]
    for key, spec in model.outputs:
        reader.name_output(key, spec)
    reader.add_nodes(flat.nodes, (), 0)
    outputs = [reader.tensor(key) for key, _ in model.outputs]
    return reader.builder.finish(model_format, "", inputs, outputs)


class _TensorFlowGraphReader:
    def __init__(self, path: Path, flat: InlinedGraph) -> None:
        self.builder = GraphBuilder(path)
        self._flat = flat
        self._ids: dict[str, str] = {}  # of tensors, by key
        self._outputs: dict[str, TensorSpec] = {}  # of the model
        self._producers = {node.key: node for node in flat.every_node}
        self._used: dict[str, list[str]] = {}  # keys in use, by the key of their producer
        for node in flat.every_node:
            for key in (*node.inputs, *(key for body in node.bodies for key in body.outputs)):
                self._use(key)

    def add_input(self, key: str, spec: TensorSpec) -> str:
        id_ = self.builder.add_tensor(spec.name, "input", spec.dtype or None, spec.shape)
        self._ids[self._flat.key(key)] = id_
        return id_

    def name_output(self, key: str, spec: TensorSpec) -> None:
        self._use(key)
        self._outputs[self._flat.key(key)] = spec

    def tensor(self, key: str) -> str:
        """The id of the tensor with that key."""
        key = self._flat.key(key)
        if key not in self._ids:
            producer, output = self._producers.get(producer_key(key)), self._outputs.get(key)
            kind, dtype, shape = _described(producer, key)
            name = _name(producer, key)
            if output is not None:
                name, dtype, shape = output.name, output.dtype or dtype, output.shape or shape
            self._ids[key] = self.builder.add_tensor(name, kind, dtype, shape)
        return self._ids[key]

    def add_nodes(self, nodes: Sequence[FlatNode], parts: Parts, depth: int) -> None:
        for position, flat in enumerate(nodes):
            if flat.node.op in NO_OPERATORS:
                continue
            outputs = self._used.get(flat.key) or [flat.key + "0"]
            self.builder.add_node(
                flat.node.op,
                flat.node.name,
                position,
                parts or name_scopes.from_name(flat.node.name),
                [self.tensor(key) for key in flat.inputs],
                [self.tensor(key) for key in sorted(outputs)],
                _attributes(flat),
                nested=[
                    NestedGraph(body.name, body.name, partial(self._add_body, body))
                    for body in flat.bodies
                ],
                depth=depth,
            )

    def _add_body(self, body: FlatBody, parts: Parts, depth: int) -> Ends:
        inputs = []
        for name, key in body.inputs:
            self._ids[key] = self.builder.add_tensor(name, "argument", None, None)
            inputs.append(self._ids[key])
        self.add_nodes(body.nodes, parts, depth)
        return inputs, [self.tensor(key) for key in body.outputs]

    def _use(self, key: str) -> None:
        key = self._flat.key(key)
        used = self._used.setdefault(producer_key(key), [])
        if key not in used:
            used.append(key)


def _name(producer: FlatNode | None, key: str) -> str:
    """TensorFlow's name: ``Split:1``; the first output has no number."""
    port = key.rpartition(":")[2]
    name = producer.node.name if producer is not None else key.partition(":")[0]
    return name if port in ("", "0") else f"{name}:{port}"


def _described(
    producer: FlatNode | None, key: str
) -> tuple[TensorKind, str | None, tuple[Dim, ...] | None]:
    if producer is None:
        return "missing", None, None
    kind: TensorKind = "initializer" if producer.node.op in (CONSTANT, *VARIABLES) else "node"
    if producer.node.op in PLACEHOLDERS:
        kind = "input"
    if not key.endswith(":0"):
        return kind, None, None
    return kind, dtype_of(producer.node), shape_of(producer.node)


def _attributes(flat: FlatNode) -> Iterator[Attribute]:
    for name, kind, value in list(flat.node.attributes)[:MOST_ATTRIBUTES]:
        if not name.startswith("_"):  # TensorFlow's own remarks
            yield _attribute(name[:LONGEST_NAME], kind, value)


def _attribute(name: str, kind: str, value: AttributeValue) -> Attribute:
    if isinstance(value, ConstantTensor):
        return Attribute(name, "tensor", None, "not shown", value.dtype, value.shape)
    if isinstance(value, bool | int | float):
        return Attribute(name, kind, scalar(value))
    return text_attribute(name, _text(value), kind)


def _text(value: object) -> str:
    """``[1, 2, 2, 1]`` for a list or shape; the name of a function."""
    if isinstance(value, tuple):
        return "[" + ", ".join("?" if each is None else _text(each) for each in value[:100]) + "]"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(getattr(value, "name", "unknown" if value is None else value))
