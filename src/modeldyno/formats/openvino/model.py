"""OpenVINO IR: facts, read without OpenVINO. Its weights are in the .bin file beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import Dim, ExternalFile, InputSpec, ModelFacts, TensorSpec
from modeldyno.formats.external_weights import check_weights_files, weights_exist
from modeldyno.formats.model_facts import IndexUse, count_weights, make_input_spec, make_model_facts
from modeldyno.formats.openvino.xml_reader import (
    Layer,
    Net,
    Place,
    Port,
    byte_count,
    dtype_of,
    parse,
    shape_of,
)
from modeldyno.formats.refusals import damaged_file_error, printable_name

# Layers that do not count as operators.
CONSTANT, PARAMETER, RESULT = "Const", "Parameter", "Result"
NO_OPERATORS = (CONSTANT, PARAMETER, RESULT)
# Layers that pass on the values of their first input.
_PASSES = ("Convert", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Broadcast", "Tile")


def read(path: Path, without_weights: bool = False) -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat.

    ``without_weights``: an absent .bin file is listed as missing, not refused.
    """
    net = parse(path)
    external, missing = _check_weights_file(path, net, without_weights)
    layers = list(walk_layers(net))
    return make_model_facts(
        path,
        "openvino-ir",
        "openvino",
        inputs=_read_inputs(net),
        outputs=_read_outputs(net),
        weights=count_weights(_iterate_weights(layers)),
        operators=(layer.type for layer in layers if layer.type not in NO_OPERATORS),
        names=(net.name, *(layer.name for layer in layers)),
        external=external,
        missing=missing,
        opsets=_highest_opsets(layers),
        ir_version=int(net.version[:9]) if net.version.isdecimal() else None,
        producer=f"OpenVINO {net.producer.partition('-')[0]}".strip()[:100],
    )


def walk_layers(net: Net) -> Iterator[Layer]:
    """All layers, including those of bodies."""
    waiting = [net]
    while waiting:
        for layer in waiting.pop().layers:
            yield layer
            waiting += layer.bodies


def _check_weights_file(
    path: Path, net: Net, may_be_missing: bool
) -> tuple[tuple[ExternalFile, ...], tuple[str, ...]]:
    end, name = 0, ""
    for layer in walk_layers(net):
        if layer.type == CONSTANT:
            end, name = max((end, name), (_end_in_weights_file(path, layer), layer.name))
    location = path.with_suffix(".bin").name  # where OpenVINO looks for them
    if location == path.name:
        raise ModelUnreadable(
            f"{printable_name(path)} is an OpenVINO model under the name of its weights",
            why=f"OpenVINO looks for its weights in {location!r}, which is this file",
            fix="Give it a name that ends in .xml",
        )
    is_needed = end or weights_exist(path, location)
    return check_weights_files(path, {location: (end, name)} if is_needed else {}, may_be_missing)


def _end_in_weights_file(path: Path, layer: Layer) -> int:
    """The offset at which a constant's values end; 0 if it has none."""
    offset, size = byte_count(layer, "offset"), byte_count(layer, "size")
    if offset is None or size is None:
        why = f"the place of constant {layer.name[:100]!r} in its weights file is not a number"
        raise damaged_file_error(path, why, fix="Convert the model again")
    return offset + size if size else 0


def _iterate_weights(layers: list[Layer]) -> Iterator[tuple[str, int]]:
    for layer in layers:
        if layer.type == CONSTANT:
            sizes = shape_of(layer.data.get("shape", "")) or ()
            elements = math.prod(size if isinstance(size, int) else 0 for size in sizes)
            if elements > 1:
                yield dtype_of(layer.data.get("element_type", "")), elements


def _highest_opsets(layers: list[Layer]) -> dict[str, int]:
    """The newest one in use: ``opset13`` → 13."""
    known = [layer.opset.removeprefix("opset") for layer in layers]
    numbers = [int(text) for text in known if text.isascii() and text.isdecimal() and len(text) < 5]
    return {"opset": max(numbers)} if numbers else {}


# ---------------------------------------------------------------- inputs and outputs


def _read_inputs(net: Net) -> Iterator[InputSpec]:
    uses = _find_index_uses(net)
    for layer in net.layers:
        if layer.type == PARAMETER:
            port = layer.outputs[0].id if layer.outputs else ""
            yield make_input_spec(parameter_spec(layer), (layer.id, port), uses)


def parameter_spec(layer: Layer) -> TensorSpec:
    port = layer.outputs[0] if layer.outputs else None
    name = port.names[0] if port and port.names else layer.name
    dtype = dtype_of(layer.data.get("element_type", "")) or (port.dtype if port else "")
    return TensorSpec(name, dtype, shape_of(layer.data.get("shape", "...")))


def _read_outputs(net: Net) -> Iterator[TensorSpec]:
    by_id = {layer.id: layer for layer in net.layers}
    for layer in net.layers:
        if layer.type == RESULT:
            yield _find_result_spec(net, layer, by_id)


def _find_result_spec(net: Net, layer: Layer, by_id: dict[str, Layer]) -> TensorSpec:
    """Named after the layer that computes it, since OpenVINO generates the names of results."""
    port = layer.inputs[0] if layer.inputs else None
    shape: tuple[Dim, ...] | None = tuple(port.dims) if port else None
    names = [name for name in layer.data.get("output_names", "").split(",") if name]
    source = net.sources.get((layer.id, port.id if port else "0"))
    maker = by_id.get(source[0]) if source else None
    ports: list[Port] = maker.outputs if maker else []
    names = names or [name for p in ports if source and p.id == source[1] for name in p.names]
    name = names[0] if names else (maker or layer).name
    return TensorSpec(name, port.dtype if port else "undefined", shape)


def _find_index_uses(net: Net) -> dict[Place, list[IndexUse[Place]]]:
    uses: dict[Place, list[IndexUse[Place]]] = {}
    for layer in net.layers:
        for position, port in enumerate(layer.inputs[:2]):
            source = net.sources.get((layer.id, port.id))
            if source is None:
                continue
            if layer.type == "Gather" and position == 1:
                rows = next(iter(layer.inputs[0].dims), None)
                uses.setdefault(source, []).append((rows if isinstance(rows, int) else None, []))
            elif layer.type in _PASSES and position == 0:
                outputs = [(layer.id, port.id) for port in layer.outputs]
                uses.setdefault(source, []).append((None, outputs))
    return uses
