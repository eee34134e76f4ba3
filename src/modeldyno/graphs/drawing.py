"""What there is to draw of a graph when some groups are open and the others are closed.

A pure walk over nodes and edges, so opening a group asks no worker: 4 000 nodes take milliseconds.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection
from typing import Literal

from modeldyno.core.graphs import Box, Graph, GraphNode, Link, View, enclosing_scopes

MOST_BOXES = 60  # of a first look: more is a haystack


def draw_view(graph: Graph, expanded: Collection[str]) -> View:
    """Boxes and links when exactly these groups are open.

    A group of one node is drawn as that node. A group inside a closed one cannot be seen, open or
    not.
    """
    drawing = _Drawing(graph, expanded)
    boxes = {f"input:{id_}": drawing.tensor_box("input", id_) for id_ in graph.inputs}
    place = {}
    for node in graph.nodes:
        id_, parent = drawing.place_of(node)
        place[node.id] = id_
        if id_ not in boxes:
            boxes[id_] = drawing.box(id_, node, parent)
    outputs = [drawing.tensor_box("output", id_) for id_ in dict.fromkeys(graph.outputs)]
    drawn = (*boxes.values(), *outputs)
    opened = dict.fromkeys(s for box in drawn for s in enclosing_scopes(box.parent))
    return View(drawn, drawing.links(place), tuple(opened))


def choose_open_groups(graph: Graph, most: int = MOST_BOXES) -> frozenset[str]:
    """Groups to open for a first look: the largest first, as long as the boxes stay few."""
    sizes = {group.scope: group.nodes for group in graph.groups}
    counts = Counter(_innermost_open_group(node.scope, sizes) for node in graph.nodes)
    inside: dict[str, list[str]] = {}
    for group in graph.groups:
        if group.nodes > 1:
            counts[group.parent] += 1
            inside.setdefault(group.parent, []).append(group.scope)
    boxes = counts[""]
    waiting = [(-sizes[scope], scope) for scope in inside.get("", ())]
    heapq.heapify(waiting)
    chosen = set()
    while waiting:
        _, scope = heapq.heappop(waiting)
        if boxes - 1 + counts[scope] <= most:
            boxes += counts[scope] - 1
            chosen.add(scope)
            for child in inside.get(scope, ()):
                heapq.heappush(waiting, (-sizes[child], child))
    return frozenset(chosen)


def _innermost_open_group(scope: str, sizes: dict[str, int]) -> str:
    """Where a node is drawn once its own scope is open: groups of one node are not drawn."""
    while scope and sizes[scope] < 2:
        scope = scope.rpartition("/")[0]
    return scope


class _Drawing:
    def __init__(self, graph: Graph, expanded: Collection[str]) -> None:
        self._graph = graph
        self._expanded = frozenset(expanded)
        self._sizes = {group.scope: group.nodes for group in graph.groups}
        self._closed: dict[str, tuple[str, str]] = {}  # scope → (closed group, open one around it)

    def place_of(self, node: GraphNode) -> tuple[str, str]:
        """The id of the box that the node is in, and the open group around that."""
        if node.scope not in self._closed:
            self._closed[node.scope] = self._search(node.scope)
        closed, parent = self._closed[node.scope]
        return (f"group:{closed}" if closed else f"node:{node.id}"), parent

    def box(self, id_: str, node: GraphNode, parent: str) -> Box:
        closed, _ = self._closed[node.scope]
        if not closed:
            return Box(id_, "node", node.id, node.label, parent, 1, node.op)
        return Box(id_, "group", closed, closed.rpartition("/")[2], parent, self._sizes[closed])

    def _search(self, scope: str) -> tuple[str, str]:
        parent = ""
        for group in enclosing_scopes(scope):
            if self._sizes[group] < 2:
                break
            if group not in self._expanded:
                return group, parent
            parent = group
        return "", parent

    def tensor_box(self, kind: Literal["input", "output"], tensor: str) -> Box:
        return Box(f"{kind}:{tensor}", kind, tensor, self._graph.tensor[tensor].name, "", 0)

    def links(self, place: dict[str, str]) -> tuple[Link, ...]:
        """``place`` says which box each node is in."""
        names: dict[tuple[str, str], dict[str, None]] = {}
        makers = {id_: f"input:{id_}" for id_ in self._graph.inputs}
        for node in self._graph.nodes:
            makers.update(dict.fromkeys(node.outputs, place[node.id]))
        makers.pop("", None)
        for node in self._graph.nodes:
            target = place[node.id]
            for tensor in node.inputs:
                source = makers.get(tensor, target)
                if source != target:
                    names.setdefault((source, target), {})[tensor] = None
        for tensor in self._graph.outputs:
            if tensor in makers:
                names.setdefault((makers[tensor], f"output:{tensor}"), {})[tensor] = None
        return tuple(Link(*ends, tuple(tensors)) for ends, tensors in names.items())
