"""OpenVINO IR: its graph, layer by layer. Constants are named, not read."""

from __future__ import annotations

from pathlib import Path

from modeldyno.core.graphs import MOST_NODES, Attribute, Graph, TensorKind
from modeldyno.core.models import Dim
from modeldyno.formats import name_scopes
from modeldyno.formats.digest import sha256
from modeldyno.formats.graph_building import DEEPEST_BODY, GraphBuilder, check_order, too_many_nodes
from modeldyno.formats.onnx.attributes import LONGEST_TEXT, MOST_ATTRIBUTES
from modeldyno.formats.openvino.model import (
    CONSTANT,
    NO_OPERATORS,
    PARAMETER,
    RESULT,
    every_layer,
    parameter_spec,
)
from modeldyno.formats.openvino.xml_reader import Layer, Net, Place, dtype_of, parse, shape_of

_LONGEST_NAME = 100


def read_graph(path: Path) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable when the graph is too large."""
    net = parse(path)
    count = sum(layer.type not in NO_OPERATORS for layer in every_layer(net))
    if count > MOST_NODES:
        raise too_many_nodes(path, count)
    reader = _Reader(path)
    inputs, outputs = reader.net(net, (), "input", 0)
    return check_order(
        reader.builder.finish("openvino-ir", sha256(path), net.name, inputs, outputs)
    )


class _Reader:
    def __init__(self, path: Path) -> None:
        self.builder = GraphBuilder(path)

    def net(
        self, net: Net, parts: tuple[str, ...], kind: TensorKind, depth: int
    ) -> tuple[list[str], list[str]]:
        """The ids of its inputs and outputs."""
        made: dict[Place, str] = {}
        inputs = []
        for layer in net.layers:  # all, before any is taken
            self._declare(layer, made, kind)
            if layer.type == PARAMETER:
                inputs += [made[layer.id, port.id] for port in layer.outputs[:1]]
        outputs = []
        for position, layer in enumerate(net.layers):
            taken = [self._taken(net, layer, port.id, made) for port in layer.inputs]
            if layer.type == RESULT:
                outputs += taken
            elif layer.type not in NO_OPERATORS:
                self._node(layer, position, parts, taken, made, depth)
        return inputs, outputs

    def _declare(self, layer: Layer, made: dict[Place, str], kind: TensorKind) -> None:
        for number, port in enumerate(layer.outputs):
            if (layer.id, port.id) in made:
                self.builder.note("two layers have the same number: engines will refuse the model")
            name = port.names[0] if port.names else layer.name + (f".{number}" if number else "")
            shape: tuple[Dim, ...] | None = tuple(port.dims)
            dtype, its_kind = port.dtype, kind
            if layer.type == PARAMETER:
                spec = parameter_spec(layer)
                name, dtype, shape = spec.name, spec.dtype, spec.shape
            elif layer.type == CONSTANT:
                its_kind = "initializer"
                dtype = dtype_of(layer.data.get("element_type", "")) or dtype
                shape = shape_of(layer.data.get("shape", "")) or shape
            else:
                its_kind = "node"
            made[layer.id, port.id] = self.builder.tensor(name, its_kind, dtype or None, shape)

    def _taken(self, net: Net, layer: Layer, port: str, made: dict[Place, str]) -> str:
        place = net.sources.get((layer.id, port))
        if place is None or place not in made:
            self.builder.note("it uses tensors that nothing makes: engines will refuse it")
            place = place or (f"{layer.id} takes", port)
            made[place] = self.builder.tensor(f"{layer.name}.{port}", "missing", None, None)
        return made[place]

    def _node(
        self,
        layer: Layer,
        position: int,
        parts: tuple[str, ...],
        taken: list[str],
        made: dict[Place, str],
        depth: int,
    ) -> None:
        id_ = self.builder.node_id(layer.name, layer.type, position)
        own = (*parts, *(name_scopes.from_name(layer.name) if not parts else ()))
        bodies = [((*own, f"{id_.rpartition('/')[2]}[{body.name}]"), body) for body in layer.bodies]
        self.builder.node(
            id_,
            layer.type,
            "",
            layer.name,
            self.builder.scope(own),
            taken,
            [made[layer.id, port.id] for port in layer.outputs],
            _attributes(layer),
            [self.builder.scope(inner) for inner, _ in bodies],
        )
        for inner, body in bodies:
            if depth >= DEEPEST_BODY:
                self.builder.note(f"sub-graphs nested deeper than {DEEPEST_BODY} are left out")
                return
            inputs, outputs = self.net(body, inner, "argument", depth + 1)
            self.builder.body(self.builder.scope(inner), body.name, "subgraph", inputs, outputs)


def _attributes(layer: Layer) -> list[Attribute]:
    """As the file has them: texts."""
    said = list(layer.data.items())[:MOST_ATTRIBUTES]
    return [
        Attribute(name[:_LONGEST_NAME], "string", value[:LONGEST_TEXT], _cut(value))
        for name, value in said
    ]


def _cut(value: str) -> str:
    return f"{len(value)} characters" if len(value) > LONGEST_TEXT else ""
