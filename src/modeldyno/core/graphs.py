"""A model's graph: operators, the tensors between them, and the scopes they lie in.

Ids are names made unique: a node or tensor whose name repeats, or is missing, gets a number, in
the order of the file. So ids stay the same as long as the file does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from modeldyno.core.documents.described import Count, Described
from modeldyno.core.models import Dim, ModelFormat

# Of a graph as JSON: below the limit of messages between processes (worker/messages.py).
LARGEST_BYTES = 60 << 20
MOST_NODES = 100_000
# A note: with less load on the machine, there may be more shapes.
NOT_IN_TIME = "shapes are those in the file: inferring more took too long"

# What makes a tensor: the caller, the file (a weight), a node, the node that a body belongs to, or
# nothing, which no engine runs.
TensorKind = Literal["input", "initializer", "node", "argument", "missing"]
BodyKind = Literal["subgraph", "function"]
Scalar = bool | int | float | str  # "NaN" and "-Infinity" are text: JSON lacks them
AttributeValue = Scalar | tuple[Scalar, ...] | None


@dataclass(frozen=True, slots=True)
class GraphTensor(Described):
    """A tensor of the graph."""

    id: str
    """Unique among the tensors."""
    name: str
    """As in the file, cut after 256 characters."""
    kind: TensorKind
    """Who makes it: the caller, the file (a weight), a node, the node that a sub-graph or function
    belongs to, or nobody."""
    dtype: str | None
    """Element type by NumPy's name (float32, int64, bool); null when it is not known."""
    shape: tuple[Dim, ...] | None
    """Sizes; null when not even the number of dimensions is known."""


@dataclass(frozen=True, slots=True)
class Attribute(Described):
    """A setting of a node. What is large is described and not shown."""

    name: str
    """Its name."""
    type: str
    """int, floats, string, tensor, graph and so on, as the format calls it."""
    value: AttributeValue
    """The value, of a small tensor its elements in one row; null for what is large or no value.
    NaN, Infinity and -Infinity are texts."""
    note: str = ""
    """What was left out, in words; empty when nothing was."""
    dtype: str | None = None
    """Of a tensor: element type; null otherwise."""
    shape: tuple[Dim, ...] | None = None
    """Of a tensor: sizes; null otherwise."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    id: str
    op_type: str
    domain: str  # empty: the format's own operators
    name: str  # as in the file; may be empty
    scope: str  # "encoder/layer/0": the group it lies in; empty at the top
    inputs: tuple[str, ...]  # ids of tensors; "" for an omitted optional input
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...] = ()
    bodies: tuple[str, ...] = ()  # scopes of the branches, loop bodies or functions it runs

    @property
    def op(self) -> str:
        """``Conv``; with its domain, unless that is the format's own."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def label(self) -> str:
        """The last part of its id, without its scope."""
        return self.id.rpartition("/")[2] or self.id


@dataclass(frozen=True, slots=True)
class Body(Described):
    """A graph inside the graph: a branch, a loop's body, or a local function."""

    scope: str
    """The group that holds its nodes, there or below."""
    name: str
    """What the file calls it; may be empty."""
    kind: BodyKind
    """A sub-graph belongs to one node; a function is there once, however often it is called."""
    inputs: tuple[str, ...]
    """Ids of the tensors it is given."""
    outputs: tuple[str, ...]
    """Ids of the tensors it returns."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A tensor between the node that makes it and one that takes it."""

    source: str  # ids of nodes
    target: str
    tensor: GraphTensor


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
    expanded: tuple[str, ...]  # open groups that are visible


def enclosing_scopes(scope: str) -> Iterator[str]:
    """A scope and the scopes around it, outermost first."""
    place = scope.find("/")
    while place >= 0:
        yield scope[:place]
        place = scope.find("/", place + 1)
    if scope:
        yield scope


@dataclass(frozen=True)
class Graph:
    format: ModelFormat
    sha256: str  # of the model file
    name: str
    nodes: tuple[GraphNode, ...]  # in the order of the file; a body's nodes follow their owner
    tensors: tuple[GraphTensor, ...]
    inputs: tuple[str, ...]  # ids of tensors
    outputs: tuple[str, ...]
    bodies: tuple[Body, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def tensor(self) -> dict[str, GraphTensor]:
        """Tensors by id."""
        return {tensor.id: tensor for tensor in self.tensors}

    @cached_property
    def node(self) -> dict[str, GraphNode]:
        """Nodes by id."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Between nodes; a tensor that a node takes twice is a single edge."""
        maker = {tensor: node.id for node in self.nodes for tensor in node.outputs if tensor}
        return tuple(
            Edge(maker[tensor], node.id, self.tensor[tensor])
            for node in self.nodes
            for tensor in dict.fromkeys(node.inputs)
            if tensor in maker
        )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The scopes in the order of the file, each before those inside it."""
        own: dict[str, Counter[str]] = {}
        for node in self.nodes:
            counter = own.get(node.scope)
            if counter is None:
                counter = own[node.scope] = Counter()
            counter[node.op] += 1
        inside: dict[str, Counter[str]] = {}
        for scope, ops in own.items():
            for group in enclosing_scopes(scope):
                inside.setdefault(group, Counter()).update(ops)
        return tuple(
            Group(scope, scope.rpartition("/")[0], ops.total(), dict(ops.most_common()))
            for scope, ops in inside.items()
        )

    def view(self, expanded: Collection[str] | None = None) -> View:
        """What to draw with only these groups open; None: a useful initial view."""
        from modeldyno.graphs import drawing

        return drawing.draw_view(
            self, drawing.choose_open_groups(self) if expanded is None else expanded
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``modeldyno inspect --graph --json`` prints."""
        from modeldyno.core.documents.described import json_text
        from modeldyno.core.documents.graphs import GraphDocument
        from modeldyno.core.exports import write_if_given_path

        return write_if_given_path(json_text(GraphDocument.of(self)), path)

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.nodes)} nodes, {len(self.tensors)} tensors>"

    def __str__(self) -> str:
        from modeldyno.graphs.tree import tree_text

        return tree_text(self)
