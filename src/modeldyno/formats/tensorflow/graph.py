"""The graph of a TensorFlow model, function calls written out, without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from modeldyno.core.graphs import Attribute, Graph, TensorKind
from modeldyno.core.models import Dim, ModelFormat, TensorSpec
from modeldyno.formats import name_scopes
from modeldyno.formats.graph_attributes import (
    LONGEST_NAME,
    MOST_ATTRIBUTES,
    make_text_attribute,
    to_scalar,
)
from modeldyno.formats.graph_building import (
    Ends,
    GraphBuilder,
    NestedGraph,
    Parts,
    too_many_nodes_error,
)
from modeldyno.formats.tensorflow import saved_model
from modeldyno.formats.tensorflow.frozen_graph import (
    CONSTANT,
    NO_OPERATORS,
    PLACEHOLDERS,
    VARIABLES,
    ModelGraph,
    dtype_of,
    make_whole_model,
    mapped_file,
    producer_key,
    shape_of,
)
from modeldyno.formats.tensorflow.inlining import (
    FlatBody,
    FlatNode,
    InlinedGraph,
    TooLarge,
    inline_calls,
)
from modeldyno.formats.tensorflow.messages import AttributeValue, ConstantTensor, parse_graph_def


def read_graph(path: Path) -> Graph:
    """Of a frozen graph; raises ModelUnreadable, or GraphUnavailable if it is too large."""
    with mapped_file(path) as data:
        return _build_graph(path, make_whole_model(parse_graph_def(data)), "tf-graph")


def read_saved_model(path: Path, signature: str = "") -> Graph:
    """The graph that a signature computes; raises as ``read_graph`` does."""
    with mapped_file(path) as data:
        meta = saved_model.find_serving_graph(path, data)
        name = saved_model.choose_signature(path, meta, signature)
        return _build_graph(path, saved_model.graph_of_signature(meta, name), saved_model.FORMAT)


def _build_graph(path: Path, model: ModelGraph, model_format: ModelFormat) -> Graph:
    try:
        flat = inline_calls(model.graph, model.nodes)
    except TooLarge as error:
        raise too_many_nodes_error(path, error.nodes + 1) from error
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
                self._add_if_missing(key)

    def add_input(self, key: str, spec: TensorSpec) -> str:
        id_ = self.builder.add_tensor(spec.name, "input", spec.dtype or None, spec.shape)
        self._ids[self._flat.key(key)] = id_
        return id_

    def name_output(self, key: str, spec: TensorSpec) -> None:
        self._add_if_missing(key)
        self._outputs[self._flat.key(key)] = spec

    def tensor(self, key: str) -> str:
        """The id of the tensor with that key."""
        key = self._flat.key(key)
        if key not in self._ids:
            producer, output = self._producers.get(producer_key(key)), self._outputs.get(key)
            kind, dtype, shape = _describe_tensor(producer, key)
            name = _output_name(producer, key)
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
                parts or name_scopes.scopes_from_name(flat.node.name),
                [self.tensor(key) for key in flat.inputs],
                [self.tensor(key) for key in sorted(outputs)],
                _read_attributes(flat),
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

    def _add_if_missing(self, key: str) -> None:
        key = self._flat.key(key)
        used = self._used.setdefault(producer_key(key), [])
        if key not in used:
            used.append(key)


def _output_name(producer: FlatNode | None, key: str) -> str:
    """TensorFlow's name: ``Split:1``; the first output has no number."""
    port = key.rpartition(":")[2]
    name = producer.node.name if producer is not None else key.partition(":")[0]
    return name if port in ("", "0") else f"{name}:{port}"


def _describe_tensor(
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


def _read_attributes(flat: FlatNode) -> Iterator[Attribute]:
    for name, kind, value in list(flat.node.attributes)[:MOST_ATTRIBUTES]:
        if not name.startswith("_"):  # TensorFlow's own remarks
            yield _make_attribute(name[:LONGEST_NAME], kind, value)


def _make_attribute(name: str, kind: str, value: AttributeValue) -> Attribute:
    if isinstance(value, ConstantTensor):
        return Attribute(name, "tensor", None, "not shown", value.dtype, value.shape)
    if isinstance(value, bool | int | float):
        return Attribute(name, kind, to_scalar(value))
    return make_text_attribute(name, _value_text(value), kind)


def _value_text(value: object) -> str:
    """``[1, 2, 2, 1]`` for a list or shape; the name of a function."""
    if isinstance(value, tuple):
        return (
            "["
            + ", ".join("?" if each is None else _value_text(each) for each in value[:100])
            + "]"
        )
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(getattr(value, "name", "unknown" if value is None else value))
