"""LiteRT (.tflite): facts, read without LiteRT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from modeldyno.core.models import InputSpec, ModelFacts, TensorSpec
from modeldyno.core.signatures import names_of, serving
from modeldyno.formats.litert.flatbuffer_file import LiteRtFile, LiteRtTensor, Subgraph, opened
from modeldyno.formats.model_facts import (
    NEVER_LEARNED,
    and_more,
    count_weights,
    embedding_range,
    is_integer,
    model_facts,
)

# Shapes and axes are kept in this type; so are quantised biases, which have scales.
_LEARNED_IF_QUANTISED = "int32"
# Operators that pass on the values of their first input.
_PASSES = ("CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "BROADCAST_TO", "TILE")
# Which input of these is the table, and which one indexes it.
_LOOKUPS = {"GATHER": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable."""
    with opened(path) as file:
        inputs, outputs = ports_of(file)
        tensors = (tensor for graph in file.subgraphs for tensor in graph.tensors)
        operators = (operator for graph in file.subgraphs for operator in graph.operators)
        return model_facts(
            path,
            "litert",
            "litert",
            inputs=inputs,
            outputs=outputs,
            weights=count_weights(_learned(file)),
            operators=(operator.type[:100] for operator in operators),
            names=(file.subgraphs[0].name, *(tensor.name for tensor in tensors)),
            ir_version=file.version,
            producer=file.description[:100],
            notes=tuple(_notes(file, (*inputs, *outputs))),
        )


def ports_of(file: LiteRtFile) -> tuple[tuple[InputSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs in the order of the graph, by the names that a signature gives them."""
    graph = file.subgraphs[0]
    signature = serving(file.signatures, graph.inputs)
    uses = _index_uses(graph)
    inputs, outputs = (
        tuple(
            zip(
                names_of(numbers, names, [graph.tensors[n].name for n in numbers]),
                numbers,
                strict=True,
            )
        )
        for numbers, names in (
            (graph.inputs, signature.inputs if signature else {}),
            (graph.outputs, signature.outputs if signature else {}),
        )
    )
    specs = []
    for name, number in inputs:
        tensor = graph.tensors[number]
        indices = None
        if is_integer(tensor.dtype):
            indices = embedding_range(number, lambda number: uses.get(number, ()))
        specs.append(InputSpec(name, tensor.dtype, tensor.shape, indices))
    made = ((name, graph.tensors[number]) for name, number in outputs)
    return tuple(specs), tuple(TensorSpec(name, t.dtype, t.shape) for name, t in made)


def _learned(file: LiteRtFile) -> Iterator[tuple[str, int]]:
    """Tensors that share their values count once."""
    buffers: set[int] = set()
    for graph in file.subgraphs:
        for tensor in graph.tensors:
            if _is_learned(tensor) and tensor.buffer not in buffers:
                buffers.add(tensor.buffer)
                yield tensor.dtype, tensor.elements


def _is_learned(tensor: LiteRtTensor) -> bool:
    if not tensor.stored_bytes or not tensor.elements or tensor.dtype in NEVER_LEARNED:
        return False
    if tensor.dtype == _LEARNED_IF_QUANTISED:
        return bool(tensor.scales)
    return tensor.elements > 1


def _notes(file: LiteRtFile, ports: Iterable[TensorSpec]) -> Iterator[str]:
    custom = {op.type[:60] for graph in file.subgraphs for op in graph.operators if op.is_custom}
    if custom:
        names = and_more(sorted(custom))
        yield f"uses operators that are not in LiteRT's list ({names}): engines may lack them"
    graph = file.subgraphs[0]
    for spec, number in zip(ports, (*graph.inputs, *graph.outputs), strict=True):
        tensor = graph.tensors[number]
        if len(tensor.scales) == 1 and "int" in tensor.dtype:
            zero = tensor.zero_points[0] if tensor.zero_points else 0
            scale = f"scale {tensor.scales[0]:.6g}, zero point {zero}"
            yield f"{spec.name[:100]} is quantised: {tensor.dtype}, {scale}"
    if file.other_signatures:
        yield f"{file.other_signatures} more signatures have graphs of their own: not measured"


def _index_uses(graph: Subgraph) -> dict[int, list[tuple[int | None, tuple[int, ...]]]]:
    """By the tensor: tables that it indexes, and tensors that its values are passed on in."""
    uses: dict[int, list[tuple[int | None, tuple[int, ...]]]] = {}
    for operator in graph.operators:
        if operator.type in _PASSES and operator.inputs:
            uses.setdefault(operator.inputs[0], []).append((None, operator.outputs))
        elif operator.type in _LOOKUPS and len(operator.inputs) > 1:
            table, index = (operator.inputs[place] for place in _LOOKUPS[operator.type])
            sizes = graph.tensors[table].shape if table >= 0 else None
            uses.setdefault(index, []).append((sizes[0] if sizes else None, ()))
    return uses
