"""OpenVINO IR: its graph, layer by layer. Constants are named, not read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from modeldyno.core.graphs import Graph, TensorKind
from modeldyno.core.models import Dim
from modeldyno.formats import name_scopes
from modeldyno.formats.graph_attributes import MOST_ATTRIBUTES, make_text_attribute
from modeldyno.formats.graph_building import Ends, GraphBuilder, NestedGraph, Parts
from modeldyno.formats.openvino.model import (
    CONSTANT,
    NO_OPERATORS,
    PARAMETER,
    RESULT,
    parameter_spec,
    walk_layers,
)
from modeldyno.formats.openvino.xml_reader import Layer, Net, Place, dtype_of, parse, shape_of


def read_graph(path: Path) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable if the graph is too large."""
    net = parse(path)
    builder = GraphBuilder(path)
    builder.require_room(sum(layer.type not in NO_OPERATORS for layer in walk_layers(net)))
    return builder.finish("openvino-ir", net.name, *_add_net(builder, net, "input", (), 0))


def _add_net(builder: GraphBuilder, net: Net, kind: TensorKind, parts: Parts, depth: int) -> Ends:
    ids: dict[Place, str] = {}
    inputs = []
    for layer in net.layers:  # all outputs are declared before the first input is looked up
        _add_outputs(builder, layer, ids, kind)
        if layer.type == PARAMETER:
            inputs += [ids[layer.id, port.id] for port in layer.outputs[:1]]
    outputs = []
    for position, layer in enumerate(net.layers):
        sources = [_find_source_id(builder, net, layer, port.id, ids) for port in layer.inputs]
        if layer.type == RESULT:
            outputs += sources
        elif layer.type not in NO_OPERATORS:
            builder.add_node(
                layer.type,
                layer.name,
                position,
                parts or name_scopes.scopes_from_name(layer.name),
                sources,
                [ids[layer.id, port.id] for port in layer.outputs],
                [make_text_attribute(*entry) for entry in [*layer.data.items()][:MOST_ATTRIBUTES]],
                nested=[
                    NestedGraph(body.name, body.name, partial(_add_net, builder, body, "argument"))
                    for body in layer.bodies
                ],
                depth=depth,
            )
    return inputs, outputs


def _add_outputs(
    builder: GraphBuilder, layer: Layer, ids: dict[Place, str], input_kind: TensorKind
) -> None:
    for number, port in enumerate(layer.outputs):
        if (layer.id, port.id) in ids:
            builder.add_note("two layers have the same number: engines will refuse the model")
        name = port.names[0] if port.names else layer.name + (f".{number}" if number else "")
        shape: tuple[Dim, ...] | None = tuple(port.dims)
        dtype, kind = port.dtype, input_kind
        if layer.type == PARAMETER:
            spec = parameter_spec(layer)
            name, dtype, shape = spec.name, spec.dtype, spec.shape
        elif layer.type == CONSTANT:
            kind = "initializer"
            dtype = dtype_of(layer.data.get("element_type", "")) or dtype
            shape = shape_of(layer.data.get("shape", "")) or shape
        else:
            kind = "node"
        ids[layer.id, port.id] = builder.add_tensor(name, kind, dtype or None, shape)


def _find_source_id(
    builder: GraphBuilder, net: Net, layer: Layer, port: str, ids: dict[Place, str]
) -> str:
    """The id of the tensor that an input takes."""
    place = net.sources.get((layer.id, port), (f"{layer.id} takes", port))
    if place not in ids:
        ids[place] = builder.add_missing(f"{layer.name}.{port}")
    return ids[place]
