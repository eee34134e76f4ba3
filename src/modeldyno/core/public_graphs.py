"""The public form of a graph; schemas/graph.schema.json describes exactly this."""

from __future__ import annotations

from typing import Any

from modeldyno.core.graphs import Attribute, Body, Edge, Graph, GraphNode, GraphTensor

GRAPH_SCHEMA = "modeldyno.graph/1"


def graph_json(graph: Graph) -> dict[str, Any]:
    return {
        "schema": GRAPH_SCHEMA,
        "format": graph.format,
        "sha256": graph.sha256,
        "name": graph.name,
        "inputs": [*graph.inputs],
        "outputs": [*graph.outputs],
        "nodes": [_node_json(node) for node in graph.nodes],
        "edges": [_edge_json(edge) for edge in graph.edges],
        "tensors": [_tensor_json(tensor) for tensor in graph.tensors],
        "groups": [
            {
                "scope": group.scope,
                "parent": group.parent or None,
                "nodes": group.nodes,
                "nodes_by_op": group.nodes_by_op,
            }
            for group in graph.groups
        ],
        "bodies": [_body_json(body) for body in graph.bodies],
        "notes": [*graph.notes],
    }


def _node_json(node: GraphNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "op_type": node.op_type,
        "domain": node.domain,
        "name": node.name,
        "scope": node.scope,
        "inputs": [tensor or None for tensor in node.inputs],
        "outputs": [tensor or None for tensor in node.outputs],
        "attributes": [_attribute_json(attribute) for attribute in node.attributes],
        "bodies": [*node.bodies],
    }


def _attribute_json(attribute: Attribute) -> dict[str, Any]:
    value = attribute.value
    return {
        "name": attribute.name,
        "type": attribute.type,
        "value": list(value) if isinstance(value, tuple) else value,
        "dtype": attribute.dtype,
        "shape": None if attribute.shape is None else list(attribute.shape),
        "note": attribute.note,
    }


def _edge_json(edge: Edge) -> dict[str, Any]:
    tensor = edge.tensor
    return {
        "source": edge.source,
        "target": edge.target,
        "tensor": tensor.id,
        "dtype": tensor.dtype,
        "shape": None if tensor.shape is None else list(tensor.shape),
    }


def _tensor_json(tensor: GraphTensor) -> dict[str, Any]:
    return {
        "id": tensor.id,
        "name": tensor.name,
        "kind": tensor.kind,
        "dtype": tensor.dtype,
        "shape": None if tensor.shape is None else list(tensor.shape),
    }


def _body_json(body: Body) -> dict[str, Any]:
    return {
        "scope": body.scope,
        "name": body.name,
        "kind": body.kind,
        "inputs": [*body.inputs],
        "outputs": [*body.outputs],
    }
