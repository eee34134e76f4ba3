"""The graph of a model: whole, or what there is to draw of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described, Sha256, Size
from modeldyno.core.graphs import (
    Attribute,
    Body,
    Box,
    Edge,
    Graph,
    GraphNode,
    GraphTensor,
    Group,
    Link,
    View,
)
from modeldyno.core.models import Dim, ModelFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDocument(Described):
    """One operator."""

    id: str
    """Unique among the nodes."""
    op_type: str
    """The operator."""
    domain: str
    """Whose operator it is; empty for the format's own."""
    name: str
    """As in the file; may be empty, and is cut after 256 characters."""
    scope: str
    """The group it lies in, parts joined by /; empty at the top."""
    inputs: tuple[str | None, ...]
    """Ids of tensors, weights included; null where an optional input is left out."""
    outputs: tuple[str | None, ...]
    """Ids of tensors; null where an optional output is left out."""
    attributes: tuple[Attribute, ...]
    """Its settings."""
    bodies: tuple[str, ...]
    """Scopes of the branches, loop bodies or functions it runs."""

    @classmethod
    def of(cls, node: GraphNode) -> NodeDocument:
        return cls.from_fields(
            node,
            inputs=tuple([tensor or None for tensor in node.inputs]),
            outputs=tuple([tensor or None for tensor in node.outputs]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeDocument(Described):
    """A tensor between two nodes."""

    source: str
    """Id of the node that makes it."""
    target: str
    """Id of a node that takes it."""
    tensor: str
    """Id of the tensor."""
    dtype: str | None
    """Element type by NumPy's name (float32, int64, bool); null when it is not known."""
    shape: tuple[Dim, ...] | None
    """Sizes; null when not even the number of dimensions is known."""

    @classmethod
    def of(cls, edge: Edge) -> EdgeDocument:
        tensor = edge.tensor
        return cls(
            source=edge.source,
            target=edge.target,
            tensor=tensor.id,
            dtype=tensor.dtype,
            shape=tensor.shape,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDocument(Described):
    """A scope with everything below it."""

    scope: str
    """Its path, parts joined by /."""
    parent: str | None
    """The scope around it; null at the top."""
    nodes: Size
    """Nodes in it, at any depth."""
    nodes_by_op: dict[str, int]
    """How many nodes there are of each operator, the most frequent first."""

    @classmethod
    def of(cls, group: Group) -> GroupDocument:
        return cls.from_fields(group, parent=group.parent or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDocument(Described):
    """What `modeldyno inspect --graph --json` and `Graph.to_json()` give. Ids are names made
    unique: one that repeats, or is missing, has a number behind a #, in the order of the file."""

    schema: Literal["modeldyno.graph/1"] = "modeldyno.graph/1"
    """Name and version of this format."""
    format: ModelFormat
    """The file's format, recognised by content."""
    sha256: Sha256
    """Of the model file; external files do not count."""
    name: str
    """What the file calls its graph; may be empty."""
    inputs: tuple[str, ...]
    """Ids of the tensors that a caller gives."""
    outputs: tuple[str, ...]
    """Ids of the tensors that a call returns."""
    nodes: tuple[NodeDocument, ...]
    """In the order of the file; nodes of a sub-graph follow the node it belongs to."""
    edges: tuple[EdgeDocument, ...]
    """From the node that makes a tensor to every node that takes it."""
    tensors: tuple[GraphTensor, ...]
    """Everything that nodes take or make, weights included."""
    groups: tuple[GroupDocument, ...]
    """Every scope with nodes in it, each before those inside it."""
    bodies: tuple[Body, ...]
    """Graphs inside the graph: branches, loop bodies, local functions."""
    notes: tuple[str, ...]
    """What somebody should know about this graph."""

    @classmethod
    def of(cls, graph: Graph) -> GraphDocument:
        return cls.from_fields(
            graph,
            nodes=tuple(map(NodeDocument.of, graph.nodes)),
            edges=tuple(map(EdgeDocument.of, graph.edges)),
            groups=tuple(map(GroupDocument.of, graph.groups)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDocument(Described):
    """What there is to draw when some groups are open and the others are closed."""

    schema: Literal["modeldyno.graph-view/1"] = "modeldyno.graph-view/1"
    """Name and version of this format."""
    sha256: Sha256
    """Of the model file."""
    boxes: tuple[Box, ...]
    """Nodes, closed groups, inputs and outputs."""
    links: tuple[Link, ...]
    """Between boxes."""
    expanded: tuple[str, ...]
    """The open groups that can be seen."""
    groups: tuple[GroupDocument, ...]
    """Those that are drawn, open or closed."""

    @classmethod
    def of(cls, graph: Graph, view: View) -> ViewDocument:
        visible = {*view.expanded, *(box.of for box in view.boxes if box.kind == "group")}
        return cls.from_fields(
            view,
            sha256=graph.sha256,
            groups=tuple(GroupDocument.of(g) for g in graph.groups if g.scope in visible),
        )
