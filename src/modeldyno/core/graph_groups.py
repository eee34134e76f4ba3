"""Groups of a graph: what lies in each scope, and what is left to draw when groups are closed.

A pure walk over nodes and edges, so opening a group asks no worker: 4 000 nodes take milliseconds.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Count, Described
from modeldyno.core.graphs import Graph, GraphNode

MOST_BOXES = 60  # of a first look: more is a haystack

BoxKind = Literal["node", "group", "input", "output"]


@dataclass(frozen=True)
class Group:
    """A scope with everything below it."""

    scope: str
    parent: str  # the scope around it; empty at the top
    nodes: int  # at any depth
    nodes_by_op: dict[str, int]  # most frequent first

    @property
    def label(self) -> str:
        return self.scope.rpartition("/")[2]


@dataclass(frozen=True)
class Box(Described):
    """One thing to draw. Its id tells kinds apart: a node and a group may share a name."""

    id: str
    """`node:`, `group:`, `input:` or `output:`, and what it stands for."""
    kind: BoxKind
    """What it stands for."""
    of: str
    """The id of the node or tensor, or the group's scope."""
    label: str
    """What to write on it."""
    parent: str
    """The innermost open group around it; empty: none."""
    nodes: Count
    """Nodes that it stands for."""
    op: str = ""
    """The operator of a node; empty of all else."""


@dataclass(frozen=True)
class Link(Described):
    """All tensors that go from one box to another."""

    source: str
    """Id of the box that they come from."""
    target: str
    """Id of the box that they go to."""
    tensors: tuple[str, ...]
    """Ids of tensors."""


@dataclass(frozen=True)
class View:
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    expanded: tuple[str, ...]  # the open groups that can be seen


def around(scope: str) -> Iterator[str]:
    """A scope and those around it, the outermost first."""
    place = scope.find("/")
    while place >= 0:
        yield scope[:place]
        place = scope.find("/", place + 1)
    if scope:
        yield scope


def groups(graph: Graph) -> tuple[Group, ...]:
    """In the order of the file, each before those inside it."""
    own: dict[str, Counter[str]] = {}
    for node in graph.nodes:
        counter = own.get(node.scope)
        if counter is None:
            counter = own[node.scope] = Counter()
        counter[node.op] += 1
    inside: dict[str, Counter[str]] = {}
    for scope, ops in own.items():
        for group in around(scope):
            inside.setdefault(group, Counter()).update(ops)
    return tuple(
        Group(scope, scope.rpartition("/")[0], ops.total(), dict(ops.most_common()))
        for scope, ops in inside.items()
    )


def view(graph: Graph, expanded: Collection[str]) -> View:
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
    opened = dict.fromkeys(s for box in drawn for s in around(box.parent))
    return View(drawn, drawing.links(place), tuple(opened))


def opening(graph: Graph, most: int = MOST_BOXES) -> frozenset[str]:
    """Groups to open for a first look: the largest first, as long as the boxes stay few."""
    sizes = {group.scope: group.nodes for group in graph.groups}
    counts = Counter(_shown_in(node.scope, sizes) for node in graph.nodes)
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


def _shown_in(scope: str, sizes: dict[str, int]) -> str:
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
        for group in around(scope):
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
