"""Every node and every tensor of an ONNX model, wherever it hides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs a node holds itself: branches and loop bodies."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The main graph and every sub-graph, those of local functions included."""
    yield from _with_subgraphs(model.graph)
    for function in model.functions:
        yield from _subgraphs_of(function.node)


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    """Every node; those of a local function once, however often it is called."""
    for graph in graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor a file may hold, also where no engine looks: any of them may name a file."""
    everything = [*graphs(model)]
    for training in model.training_info:
        everything += [*_with_subgraphs(training.initialization)]
        everything += [*_with_subgraphs(training.algorithm)]
    for graph in everything:
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
        yield from _attribute_tensors(graph.node)
    for function in model.functions:
        yield from _attribute_tensors(function.node)
        yield from _tensors_of(function.attribute_proto)


def _with_subgraphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    yield from _subgraphs_of(graph.node)


def _subgraphs_of(nodes: Iterable[NodeProto]) -> Iterator[GraphProto]:
    for node in nodes:
        for graph in subgraphs(node):
            yield from _with_subgraphs(graph)


def _attribute_tensors(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        yield from _tensors_of(node.attribute)


def _tensors_of(attributes: Iterable[AttributeProto]) -> Iterator[TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        sparse = [*attribute.sparse_tensors]
        if attribute.HasField("sparse_tensor"):
            sparse.append(attribute.sparse_tensor)
        for one in sparse:
            yield from (one.values, one.indices)
