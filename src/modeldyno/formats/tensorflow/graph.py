"""The graph of a TensorFlow model, function calls written out, without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from modeldyno.core.graphs import Attribute, Graph, TensorKind
from modeldyno.core.models import Dim, ModelFormat, TensorSpec
from modeldyno.formats import name_scopes
from modeldyno.formats.digest import sha256
from modeldyno.formats.graph_building import DEEPEST_BODY, GraphBuilder, check_order, too_many_nodes
from modeldyno.formats.onnx.attributes import LONGEST_TEXT, MOST_ATTRIBUTES
from modeldyno.formats.tensorflow import saved_model
from modeldyno.formats.tensorflow.frozen_graph import (
    CONSTANT,
    NO_OPERATORS,
    PLACEHOLDERS,
    VARIABLES,
    Part,
    dtype_of,
    reading,
    shape_of,
    whole,
)
from modeldyno.formats.tensorflow.inlining import Flat, FlatBody, FlatNode, TooLarge, flattened
from modeldyno.formats.tensorflow.messages import AttributeValue, Tensor, graph_def

_LONGEST_NAME = 100


def read_graph(path: Path) -> Graph:
    """Of a frozen graph; raises ModelUnreadable, or GraphUnavailable when it is too large."""
    with reading(path) as data:
        return _graph(path, whole(graph_def(data)), "tf-graph")


def read_saved_model(path: Path, signature: str = "") -> Graph:
    """What its signature computes; raises as ``read_graph`` does."""
    with reading(path) as data:
        meta = saved_model.serving(path, data)
        part = saved_model.model_of(meta, saved_model.signature_of(path, meta, signature))
        return _graph(path, part, saved_model.FORMAT)


def _graph(path: Path, part: Part, model_format: ModelFormat) -> Graph:
    try:
        flat = flattened(part.graph, part.nodes)
    except TooLarge as error:
        raise too_many_nodes(path, error.nodes + 1) from error
    reader = _Reader(path, flat)
    inputs = [reader.given(key, spec) for key, spec in part.inputs]
    for key, spec in part.outputs:
        reader.expect(key, spec)
    reader.level(flat.nodes, (), 0)
    outputs = [reader.made(key) for key, _ in part.outputs]
    return check_order(reader.builder.finish(model_format, sha256(path), "", inputs, outputs))


class _Reader:
    def __init__(self, path: Path, flat: Flat) -> None:
        self.builder = GraphBuilder(path)
        self._flat = flat
        self._tensors: dict[str, str] = {}  # key → id
        self._wanted: dict[str, TensorSpec] = {}
        self._makers = {node.key: node for node in flat.every_node}
        self._used: dict[str, list[str]] = {}  # by the key of the maker, the keys that are used
        for node in flat.every_node:
            for key in node.inputs:
                self._use(key)
            for body in node.bodies:
                for key in body.outputs:
                    self._use(key)

    def given(self, key: str, spec: TensorSpec) -> str:
        id_ = self.builder.tensor(spec.name, "input", spec.dtype or None, spec.shape)
        self._tensors[self._flat.key(key)] = id_
        return id_

    def expect(self, key: str, spec: TensorSpec) -> None:
        """It will come out of the model, under this name."""
        self._use(key)
        self._wanted[self._flat.key(key)] = spec

    def made(self, key: str) -> str:
        """The tensor of a key, whoever makes it."""
        key = self._flat.key(key)
        if key not in self._tensors:
            maker, wanted = self._makers.get(_start(key)), self._wanted.get(key)
            kind, dtype, shape = _described(maker, key)
            name = _name(maker, key)
            if wanted is not None:
                name, dtype, shape = wanted.name, wanted.dtype or dtype, wanted.shape or shape
            self._tensors[key] = self.builder.tensor(name, kind, dtype, shape)
        return self._tensors[key]

    def level(self, nodes: Sequence[FlatNode], parts: tuple[str, ...], depth: int) -> None:
        for position, flat in enumerate(nodes):
            if flat.node.op not in NO_OPERATORS:
                self._node(flat, position, parts, depth)

    def _use(self, key: str) -> None:
        key = self._flat.key(key)
        used = self._used.setdefault(_start(key), [])
        if key not in used:
            used.append(key)

    def _node(self, flat: FlatNode, position: int, parts: tuple[str, ...], depth: int) -> None:
        node = flat.node
        id_ = self.builder.node_id(node.name, node.op, position)
        own = parts or name_scopes.from_name(node.name)
        bodies = [((*own, f"{id_.rpartition('/')[2]}[{one.name}]"), one) for one in flat.bodies]
        taken = [self.made(key) for key in flat.inputs]
        outputs = self._used.get(flat.key) or [flat.key + "0"]
        self.builder.node(
            id_,
            node.op,
            "",
            node.name,
            self.builder.scope(own),
            taken,
            [self.made(key) for key in sorted(outputs)],
            list(_attributes(flat)),
            [self.builder.scope(inner) for inner, _ in bodies],
        )
        for inner, body in bodies:
            if depth >= DEEPEST_BODY:
                self.builder.note(f"sub-graphs nested deeper than {DEEPEST_BODY} are left out")
                return
            self._body(inner, body, depth)

    def _body(self, inner: tuple[str, ...], body: FlatBody, depth: int) -> None:
        inputs = []
        for name, key in body.inputs:
            self._tensors[key] = self.builder.tensor(name, "argument", None, None)
            inputs.append(self._tensors[key])
        self.level(body.nodes, inner, depth + 1)
        outputs = [self.made(key) for key in body.outputs]
        self.builder.body(self.builder.scope(inner), body.name, "subgraph", inputs, outputs)


def _start(key: str) -> str:
    return key.partition(":")[0] + ":"


def _name(maker: FlatNode | None, key: str) -> str:
    """As TensorFlow calls it: ``Split:1``; without a number where it is the first."""
    port = key.rpartition(":")[2]
    name = maker.node.name if maker is not None else key.partition(":")[0]
    return name if port in ("", "0") else f"{name}:{port}"


def _described(
    maker: FlatNode | None, key: str
) -> tuple[TensorKind, str | None, tuple[Dim, ...] | None]:
    if maker is None:
        return "missing", None, None
    kind: TensorKind = "initializer" if maker.node.op in (CONSTANT, *VARIABLES) else "node"
    if maker.node.op in PLACEHOLDERS:
        kind = "input"
    if not key.endswith(":0"):
        return kind, None, None
    return kind, dtype_of(maker.node), shape_of(maker.node)


def _attributes(flat: FlatNode) -> Iterator[Attribute]:
    for name, kind, value in list(flat.node.attributes)[:MOST_ATTRIBUTES]:
        if not name.startswith("_"):  # TensorFlow's own remarks
            yield _attribute(name[:_LONGEST_NAME], kind, value)


def _attribute(name: str, kind: str, value: AttributeValue) -> Attribute:
    if isinstance(value, Tensor):
        return Attribute(name, "tensor", None, "not shown", value.dtype, value.shape)
    if isinstance(value, bool | int | float):
        return Attribute(name, kind, _json_number(value))
    text = value if isinstance(value, str) else _told(value)
    note = f"{len(text)} characters" if len(text) > LONGEST_TEXT else ""
    return Attribute(name, kind, text[:LONGEST_TEXT], note)


def _json_number(value: float) -> float | str:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _told(value: object) -> str:
    """``[1, 2, 2, 1]`` of a list or shape; the name of a function."""
    if isinstance(value, tuple):
        return "[" + ", ".join("?" if one is None else _told(one) for one in value[:100]) + "]"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(getattr(value, "name", "unknown" if value is None else value))
