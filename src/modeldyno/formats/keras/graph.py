"""The graph of a Keras model: its layers, as its description connects them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modeldyno.core.graphs import Attribute, Graph
from modeldyno.core.models import Dim
from modeldyno.formats import name_scopes
from modeldyno.formats.containers.zip_members import Archive
from modeldyno.formats.digest import sha256
from modeldyno.formats.graph_building import GraphBuilder, check_order
from modeldyno.formats.keras.model import (
    INPUT,
    TENSOR,
    described,
    dtype_of,
    ends,
    layers_of,
    name_of,
    settings,
    shape_of,
)
from modeldyno.formats.onnx.attributes import LONGEST_TEXT, MOST_ATTRIBUTES

End = tuple[str, int, int]  # a layer, which of its calls, and which of that call's outputs
_DEEPEST = 16  # lists inside lists, in what a layer is called with


def read_graph(path: Path) -> Graph:
    """Raises as ``keras_files.read`` does, or GraphUnavailable when it is too large."""
    config = described(path, Archive(path))
    reader = _Reader(path)
    if config["class_name"] == "Sequential":
        inputs, outputs = reader.row(config)
    else:
        inputs, outputs = reader.net(config)
    name = name_of(config)
    return check_order(reader.builder.finish("keras", sha256(path), name, inputs, outputs))


class _Reader:
    def __init__(self, path: Path) -> None:
        self.builder = GraphBuilder(path)
        self._tensors: dict[End, str] = {}
        self._known: dict[End, tuple[str | None, tuple[Dim, ...] | None]] = {}

    def net(self, config: dict[str, Any]) -> tuple[list[str], list[str]]:
        layers = layers_of(config)
        calls = [
            (layer, number, list(_taken(call)))
            for layer in layers
            for number, call in _calls(layer)
        ]
        for _, _, taken in calls:
            self._known |= dict(taken)
        used: dict[tuple[str, int], list[End]] = {}
        for end in self._known:
            used.setdefault(end[:2], []).append(end)
        for layer in layers:
            if layer.get("class_name") == INPUT:
                self._input(layer)
        for position, (layer, number, taken) in enumerate(calls):
            made = (name_of(layer), number)
            outputs = sorted(used.get(made, [(*made, 0)]))
            self._node(layer, position, [self._tensor(end) for end, _ in taken], outputs)
        inner = settings(config)
        inputs = [self._tensor(end) for end in ends(inner.get("input_layers"))]
        return inputs, [self._tensor(end) for end in ends(inner.get("output_layers"))]

    def row(self, config: dict[str, Any]) -> tuple[list[str], list[str]]:
        """One layer after the other."""
        layers = [one for one in layers_of(config) if one.get("class_name") != INPUT]
        built = [_built(one) for one in layers]
        stated = [one for one in layers_of(config) if one.get("class_name") == INPUT]
        first: End = (name_of(stated[0]) if stated else "input_layer", 0, 0)
        shape = shape_of(settings(stated[0]).get("batch_shape")) if stated else None
        tensor = self.builder.tensor(
            first[0], "input", "float32", shape or (built[0] if built else None)
        )
        inputs = [tensor]
        for position, layer in enumerate(layers):
            end: End = (name_of(layer), 0, 0)
            if position + 1 < len(layers) and built[position + 1] is not None:
                self._known[end] = (None, built[position + 1])
            self._node(layer, position, [tensor], [end])
            tensor = self._tensor(end)
        return inputs, [tensor]

    def _input(self, layer: dict[str, Any]) -> None:
        said = settings(layer)
        end: End = (name_of(layer), 0, 0)
        dtype, shape = dtype_of(said.get("dtype")), shape_of(said.get("batch_shape"))
        self._tensors[end] = self.builder.tensor(end[0], "input", dtype, shape)

    def _tensor(self, end: End) -> str:
        if end not in self._tensors:
            dtype, shape = self._known.get(end, (None, None))
            name = end[0] + (f":{end[2]}" if end[2] else "")
            self._tensors[end] = self.builder.tensor(name, "node", dtype, shape)
        return self._tensors[end]

    def _node(
        self, layer: dict[str, Any], position: int, taken: list[str], made: list[End]
    ) -> None:
        name, kind = name_of(layer), str(layer.get("class_name"))
        if "layers" in settings(layer):
            self.builder.note("a model inside the model is shown as one node")
        self.builder.node(
            self.builder.node_id(name, kind, position),
            kind,
            "",
            name,
            self.builder.scope(name_scopes.from_name(name)),
            taken,
            [self._tensor(end) for end in made],
            list(_attributes(layer)),
        )


def _calls(layer: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    said = layer.get("inbound_nodes")
    return enumerate(said) if isinstance(said, list) else iter(())


def _taken(call: Any, deeper: int = _DEEPEST) -> Iterator[tuple[End, tuple[Any, Any]]]:
    """The tensors among what a layer is called with."""
    if deeper == 0:
        return
    if isinstance(call, dict) and call.get("class_name") == TENSOR:
        said = settings(call)
        dtype = said.get("dtype") if isinstance(said.get("dtype"), str) else None
        for end in ends(said.get("keras_history")):
            yield end, (dtype, shape_of(said.get("shape")))
        return
    inside = call.values() if isinstance(call, dict) else call if isinstance(call, list) else ()
    for one in inside:
        yield from _taken(one, deeper - 1)


def _built(layer: dict[str, Any]) -> tuple[Dim, ...] | None:
    said = layer.get("build_config")
    return shape_of(said.get("input_shape")) if isinstance(said, dict) else None


def _attributes(layer: dict[str, Any]) -> Iterator[Attribute]:
    """Plain settings as they are; of others, which class they name."""
    for name, value in list(settings(layer).items())[:MOST_ATTRIBUTES]:
        if name in ("name", "trainable", "layers") or value is None:
            continue
        kind = type(value).__name__
        if isinstance(value, dict):
            kind, value = "object", value.get("class_name", "")
        if not isinstance(value, bool | int | float) or not math.isfinite(value):
            value = str(value)
            kind = "string" if kind == "str" else kind
            note = f"{len(value)} characters" if len(value) > LONGEST_TEXT else ""
            yield Attribute(str(name)[:100], kind, value[:LONGEST_TEXT], note)
            continue
        yield Attribute(str(name)[:100], kind, value)
