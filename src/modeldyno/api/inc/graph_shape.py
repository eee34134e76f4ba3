"""A graph as ``/api`` draws it: nodes, closed groups, and the edges between them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.graphs import Attribute, Box, Graph, GraphNode, GraphTensor, enclosing_scopes

GROUP = "node_group_"
# Not drawn if all their inputs are constants.
_CONSTANT = ("Constant", "Const", "Identity")


def graph_shape(
    graph: Graph, groups: Collection[str], highlighted: Collection[str] = ()
) -> dict[str, list[dict[str, Any]]]:
    """``groups`` are open: their scopes, with or without the prefix of their ids. A group inside a
    closed one is not drawn. ``highlighted`` are ids of nodes."""
    graph = _without_constants(graph)
    view = graph.view([*groups, *(group.removeprefix(GROUP) for group in groups)])
    bright = _highlighted_boxes(graph, highlighted)
    ids = _number_boxes(graph, view.boxes)
    return {
        "nodes": [_node_shape(graph, box, ids[box.id], box.of in bright) for box in view.boxes],
        "edges": [{"source": ids[link.source], "target": ids[link.target]} for link in view.links],
    }


def groups_around(graph: Graph, nodes: Collection[str]) -> list[str]:
    """The ids of the groups to open to show these nodes."""
    sizes = {group.scope: group.nodes for group in graph.groups}
    scopes = (scope for id_ in nodes for scope in enclosing_scopes(graph.node[id_].scope))
    return [GROUP + scope for scope in dict.fromkeys(scopes) if sizes[scope] > 1]


def find_node(graph: Graph, name: str) -> GraphNode | None:
    """By id or name; else ignoring case, where a node without a name is known by its operator."""
    wanted = name.lower()
    close = None
    for node in graph.nodes:
        if name in (node.id, node.name):
            return node
        if close is None and wanted in (node.id.lower(), (node.name or node.op_type).lower()):
            close = node
    return close


def find_matching_path(graph: Graph, start: str, pattern: Sequence[str]) -> tuple[str, ...]:
    """Connected nodes from ``start`` on whose operators are those of the pattern; only ``start`` if
    there is no such path."""
    after: dict[str, list[str]] = {}
    for edge in graph.edges:
        after.setdefault(edge.source, []).append(edge.target)

    if not pattern or graph.node[start].op_type != pattern[0]:
        return (start,)
    visited: set[tuple[str, int]] = set()
    paths: list[tuple[str, ...]] = [(start,)]
    while paths:
        path = paths.pop()
        place = len(path)
        if place == len(pattern):
            return path
        for target in reversed(after.get(path[-1], ())):
            if graph.node[target].op_type == pattern[place] and (target, place) not in visited:
                visited.add((target, place))
                paths.append((*path, target))
    return (start,)


def _without_constants(graph: Graph) -> Graph:
    """Constants are shown as part of the node that reads them."""
    makes = {tensor.id for tensor in graph.tensors if tensor.kind in ("input", "argument")}
    kept: list[GraphNode] = []
    for node in graph.nodes:
        if node.op_type in _CONSTANT and makes.isdisjoint(node.inputs) and not node.bodies:
            continue
        kept.append(node)
        makes.update(node.outputs)
    return graph if len(kept) == len(graph.nodes) else replace(graph, nodes=tuple(kept))


def _highlighted_boxes(graph: Graph, highlighted: Collection[str]) -> set[str]:
    """The nodes, and the scopes around them: a closed group is highlighted for what is in it."""
    nodes = [graph.node[id_] for id_ in highlighted if id_ in graph.node]
    return {
        *(node.id for node in nodes),
        *(s for node in nodes for s in enclosing_scopes(node.scope)),
    }


def _number_boxes(graph: Graph, boxes: Sequence[Box]) -> dict[str, str]:
    """The id of each box for clients: its name, with a suffix if that is taken."""
    ids = {box.id: box.of for box in boxes if box.kind == "node"}
    taken = {*ids.values()}
    for box in boxes:
        if box.kind == "node":
            continue
        wanted = GROUP + box.of if box.kind == "group" else graph.tensor[box.of].name or box.of
        while wanted in taken:
            wanted += f":{box.kind}"
        taken.add(wanted)
        ids[box.id] = wanted
    return ids


def _node_shape(graph: Graph, box: Box, id_: str, highlight: bool) -> dict[str, Any]:
    match box.kind:
        case "group":
            return {
                "id": id_,
                "label": box.of,
                "highlight": highlight,
                "node_type": "group_node",
                "group": box.of,
            }
        case "node":
            node = graph.node[box.of]
            attributes = [_attribute(attribute) for attribute in node.attributes]
            attributes += [_output_shape(graph.tensor[id_]) for id_ in node.outputs if id_]
            return _shape(id_, node.op_type, node.name or id_, attributes, highlight)
        case end:
            tensor = graph.tensor[box.of]
            label = _input_label(graph) if end == "input" else "Output node"
            return _shape(id_, label, tensor.name, _tensor_attributes(tensor), highlight)


def _input_label(graph: Graph) -> str:
    """TensorFlow calls the operator of an input Placeholder."""
    return "Placeholder" if graph.format in ("tf-graph", "saved-model") else "Input node"


def _shape(
    id_: str, label: str, name: str, attributes: list[dict[str, Any]], highlight: bool
) -> dict[str, Any]:
    return {
        "id": id_,
        "label": label,
        "highlight": highlight,
        "properties": {"name": name, "type": label},
        "attributes": attributes,
        "node_type": "node",
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    """Its value as text, or a description of a value that is too large to show."""
    value = attribute.note if attribute.value is None else attribute.value
    text = value if isinstance(value, str) else json.dumps(value)
    return {"name": attribute.name, "attribute_type": attribute.type, "value": text}


def _output_shape(tensor: GraphTensor) -> dict[str, Any]:
    """An output, listed after the attributes: ``float32[batch, 3]``."""
    value = (tensor.dtype or "?") + (_sizes_text(tensor) if tensor.shape is not None else "")
    return {"name": f"output {tensor.name}", "attribute_type": "tensor", "value": value}


def _sizes_text(tensor: GraphTensor) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in tensor.shape or ())}]"


def _tensor_attributes(tensor: GraphTensor) -> list[dict[str, Any]]:
    attributes: list[dict[str, Any]] = []
    if tensor.dtype is not None:
        attributes.append({"name": "dtype", "attribute_type": "type", "value": tensor.dtype})
    if tensor.shape is not None:
        attributes.append(
            {"name": "shape", "attribute_type": "shape", "value": _sizes_text(tensor)}
        )
    return attributes
