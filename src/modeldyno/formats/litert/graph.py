"""LiteRT: its graph, operator by operator. Constants are named, not read.

Operators have no names of their own: each is called as the first tensor that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from modeldyno.core.graphs import MOST_NODES, Attribute, Graph, TensorKind
from modeldyno.formats import name_scopes
from modeldyno.formats.containers.flatbuffer import Table
from modeldyno.formats.digest import sha256
from modeldyno.formats.graph_building import DEEPEST_BODY, GraphBuilder, check_order, too_many_nodes
from modeldyno.formats.litert.flatbuffer_file import File, Operator, Subgraph, Tensor, opened
from modeldyno.formats.litert.model import ends_of
from modeldyno.formats.litert.schema import (
    ACTIVATIONS,
    BODIES,
    DEFAULTS,
    DTYPES,
    PADDINGS,
    SETTINGS,
    Kind,
)

_MOST_ITEMS = 32
_LEFT_OUT = -1  # an optional input
_WORDS = {"padding": PADDINGS, "activation": ACTIVATIONS, "dtype": DTYPES}


def read_graph(path: Path) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable when the graph is too large."""
    with opened(path) as file:
        count = sum(len(graph.operators) for graph in file.subgraphs)
        if count > MOST_NODES:
            raise too_many_nodes(path, count)
        reader = _Reader(path, file)
        inputs, outputs = reader.graph(0, (), "input", 0)
        name = file.subgraphs[0].name
        return check_order(reader.builder.finish("litert", sha256(path), name, inputs, outputs))


class _Reader:
    def __init__(self, path: Path, file: File) -> None:
        self.builder = GraphBuilder(path)
        self._file = file

    def graph(
        self, number: int, parts: tuple[str, ...], kind: TensorKind, depth: int
    ) -> tuple[list[str], list[str]]:
        """The ids of its inputs and outputs."""
        graph = self._file.subgraphs[number]
        ids = self._tensors(graph, kind, self._names(graph, number))
        for position, operator in enumerate(graph.operators):
            self._node(graph, operator, position, parts, ids, depth)
        return [ids[one] for one in graph.inputs], [ids[one] for one in graph.outputs]

    def _names(self, graph: Subgraph, number: int) -> list[str]:
        """Inputs and outputs of the model under those that callers use."""
        names = [tensor.name for tensor in graph.tensors]
        if number == 0:
            for specs, tensors in zip(
                ends_of(self._file), (graph.inputs, graph.outputs), strict=True
            ):
                for spec, tensor in zip(specs, tensors, strict=True):
                    names[tensor] = spec.name
        return names

    def _tensors(self, graph: Subgraph, kind: TensorKind, names: list[str]) -> list[str]:
        made = {one for operator in graph.operators for one in operator.outputs}
        ids = []
        for number, tensor in enumerate(graph.tensors):
            if number in graph.inputs:
                its_kind = kind
            elif number in made:
                its_kind = "node"
            else:  # a variable begins as zeros
                known = tensor.stored_bytes or tensor.is_variable
                its_kind = "initializer" if known else "missing"
            ids.append(self.builder.tensor(names[number], its_kind, tensor.dtype, tensor.shape))
        return ids

    def _node(
        self,
        graph: Subgraph,
        operator: Operator,
        position: int,
        parts: tuple[str, ...],
        ids: list[str],
        depth: int,
    ) -> None:
        name = _name(graph.tensors, operator)
        id_ = self.builder.node_id(name, operator.type, position)
        own = (*parts, *(name_scopes.from_name(name) if not parts else ()))
        bodies = [
            ((*own, f"{id_.rpartition('/')[2]}[{what}]"), what, number)
            for what, number in _bodies(operator, len(self._file.subgraphs))
        ]
        self.builder.node(
            id_,
            operator.type,
            "custom" if operator.is_custom else "",
            name,
            self.builder.scope(own),
            ["" if one == _LEFT_OUT else ids[one] for one in operator.inputs],
            [ids[one] for one in operator.outputs if one != _LEFT_OUT],
            list(_attributes(operator)),
            [self.builder.scope(inner) for inner, _, _ in bodies],
        )
        for inner, what, number in bodies:
            if depth >= DEEPEST_BODY:
                self.builder.note(f"sub-graphs nested deeper than {DEEPEST_BODY} are left out")
                return
            inputs, outputs = self.graph(number, inner, "argument", depth + 1)
            self.builder.body(self.builder.scope(inner), what, "subgraph", inputs, outputs)


def _name(tensors: tuple[Tensor, ...], operator: Operator) -> str:
    """Converters join the names of what they made one by semicolons: the first one will do."""
    first = next((one for one in operator.outputs if one != _LEFT_OUT), None)
    return tensors[first].name.split(";")[0] if first is not None else ""


def _bodies(operator: Operator, subgraphs: int) -> Iterator[tuple[str, int]]:
    for what, field in BODIES.get(operator.settings_type, ()):
        number = operator.settings.whole(field) if operator.settings else 0
        if 0 < number < subgraphs:  # the first one is the model itself
            yield what, number


def _attributes(operator: Operator) -> Iterator[Attribute]:
    if operator.custom_bytes:
        yield Attribute("custom_options", "bytes", None, f"{operator.custom_bytes} bytes")
    if operator.settings is None:
        return
    for name, field, kind in SETTINGS.get(operator.settings_type, ()):
        yield _attribute(operator.settings, name, field, kind)


def _attribute(settings: Table, name: str, field: int, kind: Kind) -> Attribute:
    match kind:
        case "int":
            return Attribute(name, "int", settings.whole(field, default=DEFAULTS.get(name, 0)))
        case "ints":
            items = settings.ints(field)
            cut = f"{len(items)} items" if len(items) > _MOST_ITEMS else ""
            return Attribute(name, "ints", items[:_MOST_ITEMS], cut)
        case "bool":
            return Attribute(name, "bool", settings.whole(field, "<b") != 0)
        case "float":
            value = settings.real(field)
            return Attribute(name, "float", value if abs(value) < float("inf") else str(value))
        case _:
            number, words = settings.whole(field, "<b"), _WORDS[kind]
            known = number in range(len(words))
            return Attribute(name, "string", words[number] if known else str(number))
