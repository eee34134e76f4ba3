"""LiteRT (.tflite): what the file says, without LiteRT."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from modeldyno.core.domains import telling_words
from modeldyno.core.models import IndexRange, InputSpec, ModelFacts, TensorSpec
from modeldyno.core.signatures import names_of, serving
from modeldyno.formats.digest import sha256
from modeldyno.formats.litert.flatbuffer_file import File, Subgraph, Tensor, opened

# Types of shapes, axes and conditions: constants of these are part of the graph, not learned.
_NEVER_LEARNED = ("int64", "uint64", "bool", "string", "resource", "variant")
# Shapes and axes are kept in this one; quantised biases are as well, and say so.
_LEARNED_IF_QUANTISED = "int32"
# Operators that hand their first input's values on.
_PASSES = ("CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "BROADCAST_TO", "TILE")
_LONGEST_WAY = 16  # from an input to what it indexes
# Which input of these is the table, and which one indexes it.
_LOOKUPS = {"GATHER": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable."""
    with opened(path) as file:
        learned = _learned(file)
        inputs, outputs = ends_of(file)
        operators = [one for graph in file.subgraphs for one in graph.operators]
        names = (tensor.name for graph in file.subgraphs for tensor in graph.tensors)
        return ModelFacts(
            path=str(path),
            format="litert",
            framework="litert",
            sha256=sha256(path),
            size_bytes=path.stat().st_size,
            parameters=sum(learned.values()),
            inputs=inputs,
            outputs=outputs,
            ir_version=file.version,
            producer=file.description[:100],
            nodes_by_op=dict(Counter(one.type[:100] for one in operators).most_common()),
            weights_by_dtype=learned,
            notes=tuple(_notes(file, inputs, outputs)),
            telling=telling_words((file.subgraphs[0].name, *names)),
        )


def ends_of(file: File) -> tuple[tuple[InputSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs in the order of the graph, by the names that a signature gives them."""
    graph = file.subgraphs[0]
    signature = serving(file.signatures, graph.inputs)
    taken, made = (
        names_of(tensors, said, [graph.tensors[number].name for number in tensors])
        for tensors, said in (
            (graph.inputs, signature.inputs if signature else {}),
            (graph.outputs, signature.outputs if signature else {}),
        )
    )
    inputs = tuple(
        InputSpec(name, tensor.dtype, tensor.shape, _indexed(graph, number, tensor))
        for name, number, tensor in _with_tensors(graph, taken, graph.inputs)
    )
    outputs = tuple(
        TensorSpec(name, tensor.dtype, tensor.shape)
        for name, _, tensor in _with_tensors(graph, made, graph.outputs)
    )
    return inputs, outputs


def _with_tensors(
    graph: Subgraph, names: list[str], numbers: tuple[int, ...]
) -> Iterator[tuple[str, int, Tensor]]:
    for name, number in zip(names, numbers, strict=True):
        yield name, number, graph.tensors[number]


def _learned(file: File) -> dict[str, int]:
    """Tensors that share their values count once."""
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    for graph in file.subgraphs:
        for tensor in graph.tensors:
            if _is_learned(tensor) and tensor.buffer not in seen:
                seen.add(tensor.buffer)
                counts[tensor.dtype] += math.prod(size or 0 for size in tensor.shape or ())
    return {dtype: count for dtype, count in counts.most_common() if count}


def _is_learned(tensor: Tensor) -> bool:
    if not tensor.stored_bytes or tensor.dtype in _NEVER_LEARNED:
        return False
    if tensor.dtype == _LEARNED_IF_QUANTISED:
        return bool(tensor.scales)
    return math.prod(size or 0 for size in tensor.shape or ()) > 1


def _notes(
    file: File, inputs: tuple[InputSpec, ...], outputs: tuple[TensorSpec, ...]
) -> Iterator[str]:
    custom = sorted({one.type for g in file.subgraphs for one in g.operators if one.is_custom})
    if custom:
        names = ", ".join(name[:60] for name in custom[:4]) + (" and more" if custom[4:] else "")
        yield f"uses operators that are not in LiteRT's list ({names}): engines may lack them"
    graph = file.subgraphs[0]
    for spec, number in (
        *zip(inputs, graph.inputs, strict=True),
        *zip(outputs, graph.outputs, strict=True),
    ):
        tensor = graph.tensors[number]
        if len(tensor.scales) == 1 and "int" in tensor.dtype:
            zero = tensor.zero_points[0] if tensor.zero_points else 0
            said = f"scale {tensor.scales[0]:.6g}, zero point {zero}"
            yield f"{spec.name[:100]} is quantised: {tensor.dtype}, {said}"
    if file.other_signatures:
        yield f"{file.other_signatures} more signatures have graphs of their own: not measured"


def _indexed(graph: Subgraph, number: int, tensor: Tensor) -> IndexRange | None:
    """The smallest table that an input's values index; None: it indexes nothing that we know."""
    if not tensor.dtype.lstrip("u").startswith("int"):
        return None
    reached, rows = {number}, []
    for _ in range(_LONGEST_WAY):
        onward: set[int] = set()
        for one in graph.operators:
            if one.type in _PASSES and one.inputs[:1] and one.inputs[0] in reached:
                onward.update(one.outputs)
            elif one.type in _LOOKUPS and len(one.inputs) > 1:
                table, index = (one.inputs[place] for place in _LOOKUPS[one.type])
                sizes = graph.tensors[table].shape if table >= 0 else None
                if index in reached and sizes and sizes[0]:
                    rows.append(sizes[0])
        reached = onward
        if not reached:
            break
    if not rows:
        return None
    return IndexRange(0, min(rows), f"indexes an embedding of {min(rows)} rows")
