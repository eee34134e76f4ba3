"""OpenVINO IR: what the file says, without OpenVINO. Its weights are the .bin file beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from modeldyno.core.domains import telling_words
from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import Dim, ExternalFile, IndexRange, InputSpec, ModelFacts, TensorSpec
from modeldyno.formats.digest import sha256
from modeldyno.formats.external_weights import checked, is_there
from modeldyno.formats.openvino.xml_reader import (
    Layer,
    Net,
    Place,
    dtype_of,
    number,
    parse,
    shape_of,
)
from modeldyno.formats.refusals import shown

# Layers that are no operators.
CONSTANT, PARAMETER, RESULT = "Const", "Parameter", "Result"
NO_OPERATORS = (CONSTANT, PARAMETER, RESULT)
# Types of shapes, axes and conditions: constants of these are part of the graph, not learned.
_NEVER_LEARNED = ("int64", "uint64", "bool", "string")
# Layers that hand their first input's values on.
_PASSES = ("Convert", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Broadcast", "Tile")
_LONGEST_WAY = 16  # from an input to what it indexes


def read(path: Path, without_weights: bool = False) -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat.

    ``without_weights``: the .bin file that is not there is listed as missing, not refused.
    """
    net = parse(path)
    external, missing = _weights_beside(path, net, without_weights)
    layers = list(every_layer(net))
    learned = _learned(layers)
    return ModelFacts(
        path=str(path),
        format="openvino-ir",
        framework="openvino",
        sha256=sha256(path),
        size_bytes=path.stat().st_size + sum(file.size_bytes for file in external),
        parameters=sum(learned.values()),
        inputs=tuple(_inputs(net)),
        outputs=tuple(_outputs(net)),
        external=external,
        opsets=_opsets(layers),
        ir_version=int(net.version[:9]) if net.version.isdecimal() else None,
        producer=f"OpenVINO {net.producer.partition('-')[0]}".strip()[:100],
        nodes_by_op=dict(
            Counter(x.type for x in layers if x.type not in NO_OPERATORS).most_common()
        ),
        weights_by_dtype=learned,
        missing=missing,
        telling=telling_words((net.name, *(layer.name for layer in layers))),
    )


def weights_of(path: Path) -> str:
    """Where OpenVINO looks for them: under the model's own name."""
    return path.with_suffix(".bin").name


def every_layer(net: Net) -> Iterator[Layer]:
    """Those of bodies too."""
    waiting = [net]
    while waiting:
        for layer in waiting.pop().layers:
            yield layer
            waiting += layer.bodies


def _weights_beside(
    path: Path, net: Net, may_be_missing: bool
) -> tuple[tuple[ExternalFile, ...], tuple[str, ...]]:
    end, name = 0, ""
    for layer in every_layer(net):
        if layer.type == CONSTANT:
            end, name = max((end, name), (_end(path, layer), layer.name))
    location = weights_of(path)
    if location == path.name:
        raise ModelUnreadable(
            f"{shown(path)} is an OpenVINO model under the name of its weights",
            why=f"OpenVINO looks for its weights in {location!r}, which is this file",
            fix="Give it a name that ends in .xml",
        )
    if not is_there(path, location) and (may_be_missing or not end):
        return (), (location,) if end else ()
    return (checked(path, location, end, name),), ()


def _end(path: Path, layer: Layer) -> int:
    """The byte at which a constant's values end; 0: it has none."""
    offset, size = number(layer, "offset"), number(layer, "size")
    if offset is None or size is None:
        raise ModelUnreadable(
            f"{shown(path)} is damaged",
            why=f"the place of constant {layer.name[:100]!r} in its weights file is no number",
            fix="Convert the model again",
        )
    return offset + size if size else 0


def _learned(layers: list[Layer]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for layer in layers:
        elements = _elements(layer) if layer.type == CONSTANT else 0
        dtype = dtype_of(layer.data.get("element_type", ""))
        if elements > 1 and dtype not in _NEVER_LEARNED:
            counts[dtype] += elements
    return dict(counts.most_common())


def _elements(layer: Layer) -> int:
    shape = shape_of(layer.data.get("shape", "")) or ()
    return math.prod(size if isinstance(size, int) else 0 for size in shape)


def _opsets(layers: list[Layer]) -> dict[str, int]:
    """The newest that it uses: ``opset13`` → 13."""
    known = [layer.opset.removeprefix("opset") for layer in layers]
    numbers = [int(one) for one in known if one.isascii() and one.isdecimal() and len(one) < 5]
    return {"opset": max(numbers)} if numbers else {}


# ---------------------------------------------------------------- inputs and outputs


def _inputs(net: Net) -> Iterator[InputSpec]:
    consumers: dict[Place, list[Place]] = {}
    for taker, maker in net.sources.items():
        consumers.setdefault(maker, []).append(taker)
    by_id = {layer.id: layer for layer in net.layers}
    for layer in net.layers:
        if layer.type != PARAMETER:
            continue
        spec = parameter_spec(layer)
        is_whole = spec.dtype.lstrip("u").startswith("int")
        indices = _indexed(net, layer, by_id, consumers) if is_whole else None
        yield InputSpec(spec.name, spec.dtype, spec.shape, indices)


def parameter_spec(layer: Layer) -> TensorSpec:
    port = layer.outputs[0] if layer.outputs else None
    name = port.names[0] if port and port.names else layer.name
    dtype = dtype_of(layer.data.get("element_type", "")) or (port.dtype if port else "")
    return TensorSpec(name, dtype, shape_of(layer.data.get("shape", "...")))


def _outputs(net: Net) -> Iterator[TensorSpec]:
    by_id = {layer.id: layer for layer in net.layers}
    for layer in net.layers:
        if layer.type == RESULT:
            yield result_spec(net, layer, by_id)


def result_spec(net: Net, layer: Layer, by_id: dict[str, Layer]) -> TensorSpec:
    """Named as what makes it: a result's own name is OpenVINO's."""
    taken = layer.inputs[0] if layer.inputs else None
    shape: tuple[Dim, ...] | None = tuple(taken.dims) if taken else None
    dtype = taken.dtype if taken else "undefined"
    said = [name for name in layer.data.get("output_names", "").split(",") if name]
    place = net.sources.get((layer.id, taken.id if taken else "0"))
    maker = by_id.get(place[0]) if place else None
    ports = [port for port in maker.outputs if place and port.id == place[1]] if maker else []
    names = said or [name for port in ports for name in port.names]
    return TensorSpec(names[0] if names else (maker or layer).name, dtype, shape)


def _indexed(
    net: Net, layer: Layer, by_id: dict[str, Layer], consumers: dict[Place, list[Place]]
) -> IndexRange | None:
    """The smallest table that an input's values index; None: it indexes nothing that we know."""
    reached = [(layer.id, port.id) for port in layer.outputs]
    rows: list[int] = []
    for _ in range(_LONGEST_WAY):
        takers = [taker for place in reached for taker in consumers.get(place, ())]
        reached = []
        for id_, port_id in takers:
            taker = by_id.get(id_)
            ports = [port.id for port in taker.inputs] if taker else []
            place = ports.index(port_id) if port_id in ports else -1
            if taker is not None and taker.type == "Gather" and place == 1:
                size = taker.inputs[0].dims[:1]
                rows += [one for one in size if isinstance(one, int) and one > 0]
            elif taker is not None and taker.type in _PASSES and place == 0:
                reached += [(taker.id, port.id) for port in taker.outputs]
    if not rows:
        return None
    return IndexRange(0, min(rows), f"indexes an embedding of {min(rows)} rows")
