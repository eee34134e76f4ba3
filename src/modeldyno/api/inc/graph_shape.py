"""A graph as ``/api`` draws it: nodes, closed groups, and edges between what can be seen."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.graphs import Attribute, Box, Graph, GraphNode, GraphTensor, around

GROUP = "node_group_"
# Where a constant is all that goes in, there is nothing to see.
_CONSTANT = ("Constant", "Const", "Identity")


def drawn(
    graph: Graph, groups: Collection[str], highlighted: Collection[str] = ()
) -> dict[str, list[dict[str, Any]]]:
    """``groups`` are open, by their scopes, with or without the prefix of their ids; a group inside
    a closed one cannot be seen. ``highlighted`` are ids of nodes."""
    seen = _without_constants(graph)
    view = seen.view([*groups, *(group.removeprefix(GROUP) for group in groups)])
    shining = _shining(seen, highlighted)
    ids = _ids(seen, view.boxes)
    return {
        "nodes": [_node(seen, box, ids[box.id], box.of in shining) for box in view.boxes],
        "edges": [{"source": ids[link.source], "target": ids[link.target]} for link in view.links],
    }


def groups_of(graph: Graph, nodes: Collection[str]) -> list[str]:
    """The ids of the groups to open, so that these nodes can be seen."""
    sizes = {group.scope: group.nodes for group in graph.groups}
    scopes = (scope for id_ in nodes for scope in around(graph.node[id_].scope))
    return [GROUP + scope for scope in dict.fromkeys(scopes) if sizes[scope] > 1]


def named(graph: Graph, name: str) -> GraphNode | None:
    """By its id or its name; where nobody is called so, in large or small letters alike, and one
    without a name by its operator."""
    wanted = name.lower()
    close = None
    for node in graph.nodes:
        if name in (node.id, node.name):
            return node
        if close is None and wanted in (node.id.lower(), (node.name or node.op_type).lower()):
            close = node
    return close


def matched(graph: Graph, start: str, pattern: Sequence[str]) -> tuple[str, ...]:
    """Nodes in a row from ``start`` on whose operators are those of the pattern; ``start`` alone
    where there is no such row."""
    after: dict[str, list[str]] = {}
    for edge in graph.edges:
        after.setdefault(edge.source, []).append(edge.target)

    if not pattern or graph.node[start].op_type != pattern[0]:
        return (start,)
    dead: set[tuple[str, int]] = set()  # from there nothing leads on: looked at once each
    rows: list[tuple[str, ...]] = [(start,)]
    while rows:
        row = rows.pop()
        place = len(row)
        if place == len(pattern):
            return row
        for target in reversed(after.get(row[-1], ())):
            if graph.node[target].op_type == pattern[place] and (target, place) not in dead:
                dead.add((target, place))
                rows.append((*row, target))
    return (start,)


def _without_constants(graph: Graph) -> Graph:
    """A constant is part of the node that takes it."""
    makes = {tensor.id for tensor in graph.tensors if tensor.kind in ("input", "argument")}
    kept: list[GraphNode] = []
    for node in graph.nodes:
        if node.op_type in _CONSTANT and makes.isdisjoint(node.inputs) and not node.bodies:
            continue
        kept.append(node)
        makes.update(node.outputs)
    return graph if len(kept) == len(graph.nodes) else replace(graph, nodes=tuple(kept))


def _shining(graph: Graph, highlighted: Collection[str]) -> set[str]:
    """Nodes, and the scopes that one of them lies in: a closed group shines for what is in it."""
    nodes = [graph.node[id_] for id_ in highlighted if id_ in graph.node]
    return {*(node.id for node in nodes), *(s for node in nodes for s in around(node.scope))}


def _ids(graph: Graph, boxes: Sequence[Box]) -> dict[str, str]:
    """What clients know each box by: a name, with something added where that is taken."""
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


def _node(graph: Graph, box: Box, id_: str, highlight: bool) -> dict[str, Any]:
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
            attributes = [_attribute(one) for one in node.attributes]
            attributes += [_output(graph.tensor[id_]) for id_ in node.outputs if id_]
            return _shape(id_, node.op_type, node.name or id_, attributes, highlight)
        case end:
            tensor = graph.tensor[box.of]
            label = _input_label(graph) if end == "input" else "Output node"
            return _shape(id_, label, tensor.name, _of_tensor(tensor), highlight)


def _input_label(graph: Graph) -> str:
    """In a graph of TensorFlow, inputs are operators with a name of their own."""
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
    """Its value as text; of what is too large to show, what it is."""
    value = attribute.note if attribute.value is None else attribute.value
    text = value if isinstance(value, str) else json.dumps(value)
    return {"name": attribute.name, "attribute_type": attribute.type, "value": text}


def _output(tensor: GraphTensor) -> dict[str, Any]:
    """Beside its settings, what a node makes: ``float32[batch, 3]``."""
    value = (tensor.dtype or "?") + (_sizes(tensor) if tensor.shape is not None else "")
    return {"name": f"output {tensor.name}", "attribute_type": "tensor", "value": value}


def _sizes(tensor: GraphTensor) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in tensor.shape or ())}]"


def _of_tensor(tensor: GraphTensor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if tensor.dtype is not None:
        found.append({"name": "dtype", "attribute_type": "type", "value": tensor.dtype})
    if tensor.shape is not None:
        found.append({"name": "shape", "attribute_type": "shape", "value": _sizes(tensor)})
    return found
