"""Build a graph from an untrusted file: unique ids, everything bounded."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.errors import GraphUnavailable
from modeldyno.core.graphs import (
    LARGEST_BYTES,
    MOST_NODES,
    Attribute,
    Body,
    BodyKind,
    Graph,
    GraphNode,
    GraphTensor,
    TensorKind,
)
from modeldyno.core.models import Dim, ModelFormat
from modeldyno.formats.file_reading import decode_text, hash_file
from modeldyno.formats.refusals import printable_name

LONGEST_NAME = 256  # characters; the longest seen in a real model has 180
LONGEST_PART = 80  # of a scope
DEEPEST_SCOPE = 24
DEEPEST_BODY = 8  # sub-graphs inside sub-graphs
MOST_GROUPS = 20_000
MOST_NOTES = 20
HIGHEST_RANK = 64
_CUT = "…"
_WIDEST_CHARACTER = 12  # bytes in JSON: two escaped surrogates
_ROW = 32  # bytes of JSON around the texts of a row, at most
_NUMBER = 24  # bytes of a number, at most
_PLACE = 8  # bytes of a number that stands for a tensor


Parts = tuple[str, ...]  # of a scope, the outermost first
Ends = tuple[list[str], list[str]]  # the ids of a graph's inputs and outputs
# Ids of the tensors that nodes can refer to by name: of their own graph, then of those around it.
Names = ChainMap[str, str]


@dataclass(frozen=True)
class NestedGraph:
    """A graph inside a node: a branch, or the body of a loop."""

    label: str  # distinguishes it from the node's other graphs: ``then_branch``
    name: str
    read: Callable[[Parts, int], Ends]  # adds its nodes, given its scope and its depth


def too_many_nodes_error(path: Path, count: int) -> GraphUnavailable:
    return _too_large_error(path, f"it has {count} nodes; up to {MOST_NODES} can be shown")


def _too_large_error(path: Path, why: str) -> GraphUnavailable:
    return GraphUnavailable(
        f"The graph of {printable_name(path)} is too large to show",
        why=why,
        fix="Look at its operators with `modeldyno inspect`; it can still be measured",
    )


class GraphBuilder:
    """Collects nodes and tensors.

    Raises GraphUnavailable as soon as there are too many, and UnicodeDecodeError for names that
    are not text.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._nodes: list[GraphNode] = []
        self._tensors: list[GraphTensor] = []
        self._bodies: list[Body] = []
        self._notes: dict[str, None] = {}
        self._scopes: dict[tuple[str, ...], str] = {(): ""}
        self._node_ids, self._tensor_ids = _Ids(), _Ids()
        self._bytes_left = LARGEST_BYTES - _ROW * 100

    def require_room(self, count: int) -> None:
        """Raises GraphUnavailable if a graph of that many nodes cannot be shown."""
        if count > MOST_NODES:
            raise too_many_nodes_error(self._path, count)

    # ------------------------------------------------------------ parts

    def add_tensor(
        self, name: str, kind: TensorKind, dtype: str | None, shape: tuple[Dim, ...] | None
    ) -> str:
        """Returns its id."""
        text = self._shorten_text(name)
        id_ = self._tensor_ids.make_unique(text or "tensor")
        dtype = None if dtype is None else self._shorten_text(dtype)
        if shape is not None and len(shape) > HIGHEST_RANK:
            self.add_note(f"a tensor has {len(shape)} dimensions: shapes that long are not shown")
            shape = None
        if shape is not None:
            shape = tuple(
                d if d is None or isinstance(d, int) else self._shorten_text(d) for d in shape
            )
        self._count_text_bytes(
            (id_, text, dtype or "", *(d for d in shape or () if isinstance(d, str)))
        )
        self._bytes_left -= _NUMBER * len(shape or ())
        self._tensors.append(GraphTensor(id_, text, kind, dtype, shape))
        return id_

    def add_node(
        self,
        op_type: str,
        name: str,
        position: int,
        parts: Parts,
        inputs: Iterable[str],
        outputs: Iterable[str],
        attributes: Iterable[Attribute] = (),
        *,
        domain: str = "",
        nested: Sequence[NestedGraph] = (),
        depth: int = 0,
        function: Parts = (),
    ) -> None:
        """Add a node, then the graphs ``nested`` in it.

        ``position`` and ``depth`` are those of the node's own graph, ``parts`` is the scope it lies
        in, ``function`` the scope of the local function it calls.
        """
        self.require_room(len(self._nodes) + 1)
        op_type, domain, name = (self._shorten_text(text) for text in (op_type, domain, name))
        id_ = self._node_ids.make_unique(name or f"{op_type}#{position}")
        # The brackets keep bodies apart from scopes of names: ``If_3[then_branch]``.
        label = id_.rpartition("/")[2] or op_type
        inner = [(*parts, f"{label}[{graph.label}]") for graph in nested]
        scope = self.scope(parts)
        body_scopes = [self.scope(body) for body in ([function] if function else inner)]
        node = GraphNode(
            *(id_, op_type, domain, name, scope, tuple(inputs), tuple(outputs)),
            *(tuple(attributes), tuple(body_scopes)),
        )
        self._count_text_bytes((id_, op_type, domain, name, scope, *body_scopes))
        self._bytes_left -= _PLACE * (len(node.inputs) + len(node.outputs))
        for attribute in node.attributes:
            self._count_attribute_bytes(attribute)
        self._nodes.append(node)
        for body, graph in zip(inner, nested, strict=True):
            self.add_body(body, graph.name, depth + 1, graph.read)

    def add_body(
        self,
        parts: Parts,
        name: str,
        depth: int,
        read: Callable[[Parts, int], Ends],
        kind: BodyKind = "subgraph",
    ) -> None:
        """Add a body; ``read`` adds its nodes, given its scope and its depth."""
        if depth > DEEPEST_BODY:
            self.add_note(f"sub-graphs nested deeper than {DEEPEST_BODY} are left out")
            return
        inputs, outputs = read(parts, depth)
        name, scope = self._shorten_text(name), self.scope(parts)
        self._count_text_bytes((scope, name))
        self._bytes_left -= _PLACE * (len(inputs) + len(outputs))
        self._bodies.append(Body(scope, name, kind, tuple(inputs), tuple(outputs)))

    def tensor_id(self, names: Names, name: str) -> str:
        """The id of the tensor with that name; added as missing if there is none."""
        id_ = names.get(name)
        if id_ is None:
            id_ = names[name] = self.add_missing(name)
        return id_

    def add_missing(self, name: str) -> str:
        """Add a tensor that nodes use but none produces; returns its id."""
        self.add_note("it uses tensors that no node produces: engines will refuse it")
        return self.add_tensor(name, "missing", None, None)

    def scope(self, parts: Parts) -> str:
        """``a/b/c``; beyond the limits, the enclosing group."""
        known: tuple[str, ...] = ()
        for part in parts[:DEEPEST_SCOPE]:
            inner = (*known, part[:LONGEST_PART])
            if inner not in self._scopes:
                if len(self._scopes) > MOST_GROUPS:
                    self.add_note(f"it has more than {MOST_GROUPS} groups: the others are left out")
                    break
                around = self._scopes[known]
                label = _cut_to_bytes(part, LONGEST_PART).replace("/", "_")
                self._scopes[inner] = f"{around}/{label}" if around else label
            known = inner
        return self._scopes[known]

    def add_note(self, text: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._notes[_cut_to_bytes(text, 300)] = None

    def finish(
        self, model_format: ModelFormat, name: str, inputs: Iterable[str], outputs: Iterable[str]
    ) -> Graph:
        input_ids, output_ids = tuple(inputs), tuple(outputs)
        self._bytes_left -= _PLACE * (len(input_ids) + len(output_ids))
        name = self._shorten_text(name)
        self._count_text_bytes((name,))
        graph = Graph(
            format=model_format,
            sha256=hash_file(self._path),
            name=name,
            nodes=tuple(self._nodes),
            tensors=tuple(self._tensors),
            inputs=input_ids,
            outputs=output_ids,
            bodies=tuple(self._bodies),
            notes=tuple(self._notes),
        )
        count = _count_nodes_in_cycles(graph)
        if not count:
            return graph
        # No engine accepts it, but users may still look at it.
        note = f"{count} nodes are part of a cycle or depend on one: engines will refuse the model"
        return replace(graph, notes=(*graph.notes, note))

    # ------------------------------------------------------------ bounds

    def _shorten_text(self, text: str | bytes) -> str:
        text = decode_text(text)
        if len(text) <= LONGEST_NAME:
            return text
        self.add_note(f"names of more than {LONGEST_NAME} characters are cut")
        return _cut_to_bytes(text, LONGEST_NAME)

    def _count_attribute_bytes(self, attribute: Attribute) -> None:
        value = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        texts = [item for item in value if isinstance(item, str)]
        self._count_text_bytes(
            (attribute.name, attribute.type, attribute.note, attribute.dtype or "", *texts)
        )
        self._bytes_left -= _NUMBER * (len(value) + len(attribute.shape or ()))

    def _count_text_bytes(self, texts: Iterable[str]) -> None:
        self._bytes_left -= _ROW + sum(map(_byte_length, texts))
        if self._bytes_left < 0:
            most = f"{LARGEST_BYTES >> 20} MiB"
            raise _too_large_error(
                self._path, f"its names and attributes alone take more than {most}"
            )


class _Ids:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def make_unique(self, wanted: str) -> str:
        """``name``, then ``name#2`` and so on."""
        id_ = wanted
        while id_ in self._taken:
            number = self._next.get(wanted, 2)
            self._next[wanted] = number + 1
            id_ = f"{wanted}#{number}"
        self._taken.add(id_)
        return id_


def _cut_to_bytes(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT


def _byte_length(text: str) -> int:
    """At most, in JSON with quotes and a comma."""
    if text.isascii() and text.isprintable():
        return len(text) + text.count('"') + text.count("\\") + 3
    return _WIDEST_CHARACTER * len(text) + 3


def _count_nodes_in_cycles(graph: Graph) -> int:
    """The number of nodes that can never run, because they wait for each other."""
    waiting = {node.id: 0 for node in graph.nodes}
    successors: dict[str, list[str]] = {}
    for edge in graph.edges:
        waiting[edge.target] += 1
        successors.setdefault(edge.source, []).append(edge.target)
    ready = [id_ for id_, count in waiting.items() if count == 0]
    count = len(waiting)
    while ready:
        count -= 1
        for target in successors.get(ready.pop(), ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return count
