"""LiteRT (.tflite): facts, read without LiteRT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from modeldyno.core.models import InputSpec, ModelFacts, TensorSpec, names_of, serving_signature
from modeldyno.formats.litert.flatbuffer_file import LiteRtFile, LiteRtTensor, Subgraph, opened_file
from modeldyno.formats.model_facts import (
    NEVER_LEARNED,
    IndexUse,
    count_weights,
    join_some,
    make_input_spec,
    make_model_facts,
)

# Shapes and axes have this type; so do quantised biases, which also have scales.
_LEARNED_IF_QUANTISED = "int32"
# Operators that pass on the values of their first input.
_PASSES = ("CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "BROADCAST_TO", "TILE")
# The positions of the table and of the input that indexes it.
_LOOKUPS = {"GATHER": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable."""
    with opened_file(path) as file:
        inputs, outputs = ports_of(file)
        tensors = (tensor for graph in file.subgraphs for tensor in graph.tensors)
        operators = (operator for graph in file.subgraphs for operator in graph.operators)
        return make_model_facts(
            path,
            "litert",
            "litert",
            inputs=inputs,
            outputs=outputs,
            weights=count_weights(_iterate_weights(file)),
            operators=(operator.type[:100] for operator in operators),
            names=(file.subgraphs[0].name, *(tensor.name for tensor in tensors)),
            ir_version=file.version,
            producer=file.description[:100],
            notes=tuple(_make_notes(file, (*inputs, *outputs))),
        )


def ports_of(file: LiteRtFile) -> tuple[tuple[InputSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs in the order of the graph, named as in its signature."""
    graph = file.subgraphs[0]
    signature = serving_signature(file.signatures, graph.inputs)
    uses = _find_index_uses(graph)
    inputs = _tensor_specs(graph, graph.inputs, signature.inputs if signature else {})
    outputs = _tensor_specs(graph, graph.outputs, signature.outputs if signature else {})
    numbered = zip(inputs, graph.inputs, strict=True)
    return tuple(make_input_spec(spec, number, uses) for spec, number in numbered), tuple(outputs)


def _tensor_specs(
    graph: Subgraph, numbers: Sequence[int], signature_names: Mapping[str, int]
) -> list[TensorSpec]:
    tensors = [graph.tensors[number] for number in numbers]
    names = names_of(numbers, signature_names, [tensor.name for tensor in tensors])
    return [TensorSpec(n, t.dtype, t.shape) for n, t in zip(names, tensors, strict=True)]


def _iterate_weights(file: LiteRtFile) -> Iterator[tuple[str, int]]:
    """Tensors that share a buffer count once."""
    buffers: set[int] = set()
    for graph in file.subgraphs:
        for tensor in graph.tensors:
            if _is_weight(tensor) and tensor.buffer not in buffers:
                buffers.add(tensor.buffer)
                yield tensor.dtype, tensor.elements


def _is_weight(tensor: LiteRtTensor) -> bool:
    if not tensor.stored_bytes or not tensor.elements or tensor.dtype in NEVER_LEARNED:
        return False
    if tensor.dtype == _LEARNED_IF_QUANTISED:
        return bool(tensor.scales)
    return tensor.elements > 1


def _make_notes(file: LiteRtFile, ports: Iterable[TensorSpec]) -> Iterator[str]:
    custom = {op.type[:60] for graph in file.subgraphs for op in graph.operators if op.is_custom}
    if custom:
        names = join_some(sorted(custom))
        yield f"uses operators that are not in LiteRT's list ({names}): engines may lack them"
    graph = file.subgraphs[0]
    for spec, number in zip(ports, (*graph.inputs, *graph.outputs), strict=True):
        tensor = graph.tensors[number]
        if len(tensor.scales) == 1 and "int" in tensor.dtype:
            zero = tensor.zero_points[0] if tensor.zero_points else 0
            scale = f"scale {tensor.scales[0]:.6g}, zero point {zero}"
            yield f"{spec.name[:100]} is quantised: {tensor.dtype}, {scale}"
    if file.other_signatures:
        yield f"{file.other_signatures} more signatures have separate graphs: not measured"


def _find_index_uses(graph: Subgraph) -> dict[int, list[IndexUse[int]]]:
    uses: dict[int, list[IndexUse[int]]] = {}
    for operator in graph.operators:
        if operator.type in _PASSES and operator.inputs:
            uses.setdefault(operator.inputs[0], []).append((None, operator.outputs))
        elif operator.type in _LOOKUPS and len(operator.inputs) > 1:
            table, index = (operator.inputs[place] for place in _LOOKUPS[operator.type])
            sizes = graph.tensors[table].shape if table >= 0 else None
            uses.setdefault(index, []).append((sizes[0] if sizes else None, ()))
    return uses
