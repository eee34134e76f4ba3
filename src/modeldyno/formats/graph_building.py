"""Put a graph together from a stranger's file: ids made unique, everything bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
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
from modeldyno.formats.plain_text import decoded
from modeldyno.formats.refusals import shown

LONGEST_NAME = 256  # characters; the longest that we saw in a real model has 180
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
_PLACE = 8  # of a number that stands for a tensor


def too_many_nodes(path: Path, count: int) -> GraphUnavailable:
    return GraphUnavailable(
        f"The graph of {shown(path)} is too large to be shown",
        why=f"it has {count} nodes; up to {MOST_NODES} can be shown",
        fix="Look at its operators with `modeldyno inspect`; it can be measured all the same",
    )


class Names:
    """The tensors that nodes can see by name: those of their own graph, then the outer ones."""

    def __init__(self, outer: Names | None = None) -> None:
        self._own: dict[str, str] = {}
        self._outer = outer

    def __contains__(self, name: str) -> bool:
        return name in self._own

    def __setitem__(self, name: str, id_: str) -> None:
        self._own[name] = id_

    def find(self, name: str) -> str | None:
        """The tensor's id; None: nobody makes it."""
        here: Names | None = self
        while here is not None:
            if name in here._own:
                return here._own[name]
            here = here._outer
        return None


class GraphBuilder:
    """Collects nodes and tensors.

    Raises GraphUnavailable as soon as there are too many, and UnicodeDecodeError for names that
    are no text.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._nodes: list[GraphNode] = []
        self._tensors: list[GraphTensor] = []
        self._bodies: list[Body] = []
        self._notes: dict[str, None] = {}
        self._scopes: dict[tuple[str, ...], str] = {(): ""}
        self._node_ids, self._tensor_ids = _Ids(), _Ids()
        self._left = LARGEST_BYTES - _ROW * 100

    # ------------------------------------------------------------ parts

    def tensor(
        self, name: str, kind: TensorKind, dtype: str | None, shape: tuple[Dim, ...] | None
    ) -> str:
        """Its id."""
        text = self._short(name)
        id_ = self._tensor_ids.unique(text or "tensor")
        dtype = None if dtype is None else self._short(dtype)
        if shape is not None and len(shape) > HIGHEST_RANK:
            self.note(f"a tensor has {len(shape)} dimensions: shapes that long are not shown")
            shape = None
        if shape is not None:
            shape = tuple(d if d is None or isinstance(d, int) else self._short(d) for d in shape)
        self._spend((id_, text, dtype or "", *(d for d in shape or () if isinstance(d, str))))
        self._left -= _NUMBER * len(shape or ())
        self._tensors.append(GraphTensor(id_, text, kind, dtype, shape))
        return id_

    def node_id(self, name: str, op_type: str, position: int) -> str:
        """A node's id, before its bodies are read; ``position`` is that in its own graph."""
        return self._node_ids.unique(self._short(name) or f"{self._short(op_type)}#{position}")

    def node(
        self,
        id_: str,
        op_type: str,
        domain: str,
        name: str,
        scope: str,
        inputs: Iterable[str],
        outputs: Iterable[str],
        attributes: Sequence[Attribute] = (),
        bodies: Sequence[str] = (),
    ) -> None:
        if len(self._nodes) >= MOST_NODES:
            raise too_many_nodes(self._path, len(self._nodes) + 1)
        op_type, domain, name = (self._short(text) for text in (op_type, domain, name))
        taken, made = tuple(inputs), tuple(outputs)
        self._spend((id_, op_type, domain, name, scope, *bodies))
        self._left -= _PLACE * (len(taken) + len(made))
        for attribute in attributes:
            self._spend_attribute(attribute)
        self._nodes.append(
            GraphNode(
                id_, op_type, domain, name, scope, taken, made, tuple(attributes), tuple(bodies)
            )
        )

    def body(
        self,
        scope: str,
        name: str,
        kind: BodyKind,
        inputs: Iterable[str],
        outputs: Iterable[str],
    ) -> None:
        taken, made = tuple(inputs), tuple(outputs)
        name = self._short(name)
        self._spend((scope, name))
        self._left -= _PLACE * (len(taken) + len(made))
        self._bodies.append(Body(scope, name, kind, taken, made))

    def scope(self, parts: Sequence[str]) -> str:
        """``a/b/c``; what is too deep, or one group too many, lies in the group around it."""
        known: tuple[str, ...] = ()
        for part in parts[:DEEPEST_SCOPE]:
            inner = (*known, part[:LONGEST_PART])
            if inner not in self._scopes:
                if len(self._scopes) > MOST_GROUPS:
                    self.note(f"it has more than {MOST_GROUPS} groups: the others are not told")
                    break
                around = self._scopes[known]
                label = _cut(part, LONGEST_PART).replace("/", "_")
                self._scopes[inner] = f"{around}/{label}" if around else label
            known = inner
        return self._scopes[known]

    def note(self, text: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._notes[_cut(text, 300)] = None

    def finish(
        self,
        model_format: ModelFormat,
        sha256: str,
        name: str,
        inputs: Iterable[str],
        outputs: Iterable[str],
    ) -> Graph:
        taken, made = tuple(inputs), tuple(outputs)
        self._left -= _PLACE * (len(taken) + len(made))
        self._spend((name := self._short(name),))
        return Graph(
            format=model_format,
            sha256=sha256,
            name=name,
            nodes=tuple(self._nodes),
            tensors=tuple(self._tensors),
            inputs=taken,
            outputs=made,
            bodies=tuple(self._bodies),
            notes=tuple(self._notes),
        )

    # ------------------------------------------------------------ bounds

    def _short(self, text: str | bytes) -> str:
        text = decoded(text)
        if len(text) <= LONGEST_NAME:
            return text
        self.note(f"names of more than {LONGEST_NAME} characters are cut")
        return _cut(text, LONGEST_NAME)

    def _spend_attribute(self, attribute: Attribute) -> None:
        value = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        texts = [item for item in value if isinstance(item, str)]
        self._spend((attribute.name, attribute.type, attribute.note, attribute.dtype or "", *texts))
        self._left -= _NUMBER * (len(value) + len(attribute.shape or ()))

    def _spend(self, texts: Iterable[str]) -> None:
        self._left -= _ROW + sum(map(_bytes, texts))
        if self._left < 0:
            raise GraphUnavailable(
                f"The graph of {shown(self._path)} is too large to be shown",
                why=f"its names and attributes alone take more than {LARGEST_BYTES >> 20} MiB",
                fix="Look at its operators with `modeldyno inspect`; "
                "it can be measured all the same",
            )


class _Ids:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """``name``, then ``name#2`` and so on."""
        id_ = wanted
        while id_ in self._taken:
            number = self._next.get(wanted, 2)
            self._next[wanted] = number + 1
            id_ = f"{wanted}#{number}"
        self._taken.add(id_)
        return id_


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT


def _bytes(text: str) -> int:
    """In JSON, with quotes and a comma; at most."""
    if text.isascii() and text.isprintable():
        return len(text) + text.count('"') + text.count("\\") + 3
    return _WIDEST_CHARACTER * len(text) + 3


def check_order(graph: Graph) -> Graph:
    """Adds a note if the graph has a cycle: no engine accepts one, but people may look at it."""
    waiting = {node.id: 0 for node in graph.nodes}
    after: dict[str, list[str]] = {}
    for edge in graph.edges:
        waiting[edge.target] += 1
        after.setdefault(edge.source, []).append(edge.target)
    ready = [id_ for id_, count in waiting.items() if count == 0]
    left = len(waiting)
    while ready:
        left -= 1
        for target in after.get(ready.pop(), ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if not left:
        return graph
    note = f"{left} nodes lie on a circle or behind one: engines will refuse the model"
    return replace(graph, notes=(*graph.notes, note))
