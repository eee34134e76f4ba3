"""The graph of a Keras model: its layers, as its description connects them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modeldyno.core.graphs import Attribute, Graph
from modeldyno.core.models import Dim
from modeldyno.formats import name_scopes
from modeldyno.formats.containers.zip_members import ModelArchive
from modeldyno.formats.graph_attributes import MOST_ATTRIBUTES, make_text_attribute, to_scalar
from modeldyno.formats.graph_building import GraphBuilder
from modeldyno.formats.keras.model import (
    TENSOR,
    dtype_of,
    find_sources,
    is_input,
    layer_config,
    layers_of,
    name_of,
    output_shape_of,
    read_description,
    shape_of,
)

End = tuple[str, int, int]  # a layer, the number of its call, and that of the call's output
Kind = tuple[str | None, tuple[Dim, ...] | None]  # dtype and shape
_DEEPEST = 16  # nested lists in the arguments of a layer


def read_graph(path: Path) -> Graph:
    """Raises as ``model.read`` does, and GraphUnavailable if it is too large."""
    config = read_description(path, ModelArchive(path))
    reader = _KerasGraphReader(path)
    is_chain = config["class_name"] == "Sequential"
    inputs, outputs = reader.add_chain(config) if is_chain else reader.add_net(config)
    return reader.builder.finish("keras", name_of(config), inputs, outputs)


class _KerasGraphReader:
    def __init__(self, path: Path) -> None:
        self.builder = GraphBuilder(path)
        self._ids: dict[End, str] = {}  # of tensors
        self._kinds: dict[End, Kind] = {}

    def add_net(self, config: dict[str, Any]) -> tuple[list[str], list[str]]:
        layers = layers_of(config)
        calls = [
            (layer, number, list(_iterate_tensors(call)))
            for layer in layers
            for number, call in _iterate_calls(layer)
        ]
        for _, _, tensors in calls:
            self._kinds |= dict(tensors)
        used: dict[tuple[str, int], list[End]] = {}  # outputs in use, by call
        for end in self._kinds:
            used.setdefault(end[:2], []).append(end)
        for layer in filter(is_input, layers):
            declared, end = layer_config(layer), (name_of(layer), 0, 0)
            dtype, shape = dtype_of(declared.get("dtype")), shape_of(declared.get("batch_shape"))
            self._ids[end] = self.builder.add_tensor(end[0], "input", dtype, shape)
        for position, (layer, number, tensors) in enumerate(calls):
            outputs = sorted(used.get((name_of(layer), number), [(name_of(layer), number, 0)]))
            self._add_node(layer, position, [self._tensor_id(end) for end, _ in tensors], outputs)
        inputs, outputs_ids = (
            [self._tensor_id(end) for end in find_sources(layer_config(config).get(side))]
            for side in ("input_layers", "output_layers")
        )
        return inputs, outputs_ids

    def add_chain(self, config: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Each layer takes the output of the previous one."""
        layers = [layer for layer in layers_of(config) if not is_input(layer)]
        built = [output_shape_of(layer) for layer in layers]
        declared = next(filter(is_input, layers_of(config)), None)
        name = name_of(declared) if declared else "input_layer"
        shape = shape_of(layer_config(declared).get("batch_shape")) if declared else None
        shape = shape or (built[0] if built else None)
        tensor = first = self.builder.add_tensor(name, "input", "float32", shape)
        for position, layer in enumerate(layers):
            end: End = (name_of(layer), 0, 0)
            if position + 1 < len(layers) and built[position + 1] is not None:
                self._kinds[end] = (None, built[position + 1])
            self._add_node(layer, position, [tensor], [end])
            tensor = self._tensor_id(end)
        return [first], [tensor]

    def _tensor_id(self, end: End) -> str:
        if end not in self._ids:
            name = end[0] + (f":{end[2]}" if end[2] else "")
            kind = self._kinds.get(end, (None, None))
            self._ids[end] = self.builder.add_tensor(name, "node", *kind)
        return self._ids[end]

    def _add_node(
        self, layer: dict[str, Any], position: int, inputs: list[str], outputs: list[End]
    ) -> None:
        if "layers" in layer_config(layer):
            self.builder.add_note("a nested model is shown as a single node")
        name = name_of(layer)
        self.builder.add_node(
            str(layer.get("class_name")),
            name,
            position,
            name_scopes.scopes_from_name(name),
            inputs,
            [self._tensor_id(end) for end in outputs],
            _attributes(layer),
        )


def _iterate_calls(layer: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    nodes = layer.get("inbound_nodes")
    return enumerate(nodes) if isinstance(nodes, list) else iter(())


def _iterate_tensors(arguments: Any, deeper: int = _DEEPEST) -> Iterator[tuple[End, Kind]]:
    """The tensors in the arguments of a layer."""
    if deeper == 0:
        return
    if isinstance(arguments, dict) and arguments.get("class_name") == TENSOR:
        tensor = layer_config(arguments)
        dtype = tensor.get("dtype") if isinstance(tensor.get("dtype"), str) else None
        for end in find_sources(tensor.get("keras_history")):
            yield end, (dtype, shape_of(tensor.get("shape")))
        return
    inner = arguments.values() if isinstance(arguments, dict) else arguments
    for argument in inner if isinstance(arguments, dict | list) else ():
        yield from _iterate_tensors(argument, deeper - 1)


def _attributes(layer: dict[str, Any]) -> Iterator[Attribute]:
    """Plain settings unchanged; of objects, only the class."""
    for name, value in list(layer_config(layer).items())[:MOST_ATTRIBUTES]:
        if name in ("name", "trainable", "layers") or value is None:
            continue
        kind = type(value).__name__
        if isinstance(value, bool | int | float):
            yield Attribute(str(name)[:100], kind, to_scalar(value))
        elif isinstance(value, dict):
            yield make_text_attribute(str(name), str(value.get("class_name", "")), "object")
        else:
            yield make_text_attribute(str(name), str(value), "string" if kind == "str" else kind)
