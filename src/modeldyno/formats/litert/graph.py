"""LiteRT: its graph, operator by operator. Constants are named, not read.

Operators have no names: each is named after its first output.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from modeldyno.core.graphs import Attribute, Graph, TensorKind
from modeldyno.formats import name_scopes
from modeldyno.formats.containers.flatbuffer import Table
from modeldyno.formats.graph_attributes import make_list_attribute, to_scalar
from modeldyno.formats.graph_building import Ends, GraphBuilder, NestedGraph, Parts
from modeldyno.formats.litert.flatbuffer_file import LiteRtFile, Operator, Subgraph, opened_file
from modeldyno.formats.litert.model import ports_of
from modeldyno.formats.litert.schema import (
    ACTIVATIONS,
    BODIES,
    DEFAULTS,
    DTYPES,
    PADDINGS,
    SETTINGS,
    Kind,
)

_OMITTED = -1  # an optional input
_WORDS = {"padding": PADDINGS, "activation": ACTIVATIONS, "dtype": DTYPES}


def read_graph(path: Path) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable if the graph is too large."""
    with opened_file(path) as file:
        builder = GraphBuilder(path)
        builder.require_room(sum(len(graph.operators) for graph in file.subgraphs))
        ends = _add_graph(builder, file, 0, "input", (), 0)
        return builder.finish("litert", file.subgraphs[0].name, *ends)


def _add_graph(
    builder: GraphBuilder, file: LiteRtFile, number: int, kind: TensorKind, parts: Parts, depth: int
) -> Ends:
    graph = file.subgraphs[number]
    ids = _add_tensors(builder, file, graph, kind)
    for position, operator in enumerate(graph.operators):
        name = _operator_label(graph, operator)
        builder.add_node(
            operator.type,
            name,
            position,
            parts or name_scopes.scopes_from_name(name),
            ["" if tensor == _OMITTED else ids[tensor] for tensor in operator.inputs],
            [ids[tensor] for tensor in operator.outputs if tensor != _OMITTED],
            _read_attributes(operator),
            domain="custom" if operator.is_custom else "",
            nested=[
                NestedGraph(label, label, partial(_add_graph, builder, file, inner, "argument"))
                for label, inner in _find_bodies(operator, len(file.subgraphs))
            ],
            depth=depth,
        )
    return [ids[tensor] for tensor in graph.inputs], [ids[tensor] for tensor in graph.outputs]


def _add_tensors(
    builder: GraphBuilder, file: LiteRtFile, graph: Subgraph, input_kind: TensorKind
) -> list[str]:
    names = [tensor.name for tensor in graph.tensors]
    if graph is file.subgraphs[0]:  # inputs and outputs under the names that callers use
        for specs, numbers in zip(ports_of(file), (graph.inputs, graph.outputs), strict=True):
            for spec, number in zip(specs, numbers, strict=True):
                names[number] = spec.name
    made = {tensor for operator in graph.operators for tensor in operator.outputs}
    inputs = set(graph.inputs)
    ids = []
    for number, tensor in enumerate(graph.tensors):
        kind: TensorKind = "missing"
        if number in inputs:
            kind = input_kind
        elif number in made:
            kind = "node"
        elif tensor.stored_bytes or tensor.is_variable:  # a variable begins as zeros
            kind = "initializer"
        ids.append(builder.add_tensor(names[number], kind, tensor.dtype, tensor.shape))
    return ids


def _operator_label(graph: Subgraph, operator: Operator) -> str:
    """Converters join the names of merged operators by semicolons; we take the first."""
    first = next((tensor for tensor in operator.outputs if tensor != _OMITTED), None)
    return graph.tensors[first].name.split(";")[0] if first is not None else ""


def _find_bodies(operator: Operator, subgraphs: int) -> Iterator[tuple[str, int]]:
    for name, field in BODIES.get(operator.settings_type, ()):
        number = operator.settings.integer(field) if operator.settings else 0
        if 0 < number < subgraphs:  # the first one is the model itself
            yield name, number


def _read_attributes(operator: Operator) -> Iterator[Attribute]:
    if operator.custom_bytes:
        yield Attribute("custom_options", "bytes", None, f"{operator.custom_bytes} bytes")
    if operator.settings is not None:
        for name, field, kind in SETTINGS.get(operator.settings_type, ()):
            yield _read_attribute(operator.settings, name, field, kind)


def _read_attribute(settings: Table, name: str, field: int, kind: Kind) -> Attribute:
    match kind:
        case "int":
            return Attribute(name, "int", settings.integer(field, default=DEFAULTS.get(name, 0)))
        case "ints":
            return make_list_attribute(name, "ints", settings.ints(field))
        case "bool":
            return Attribute(name, "bool", settings.integer(field, "<b") != 0)
        case "float":
            return Attribute(name, "float", to_scalar(settings.float32(field)))
        case _:
            number, words = settings.integer(field, "<b"), _WORDS[kind]
            known = number in range(len(words))
            return Attribute(name, "string", words[number] if known else str(number))
