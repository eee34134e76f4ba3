"""Operands of TensorFlow's nodes: a traced run reports the sizes of each node's outputs.

A node's label says where its inputs come from. TensorFlow's filters are [height, width, in, out];
they are transposed to what ``core/work.py`` expects: out first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modeldyno.core.work import Operand, Operands

Source = tuple[str, int]  # node, and which of its outputs
Shape = tuple[int, ...]

# By TensorFlow's numbers for types.
_DTYPES = {
    **{1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64"},
    **{10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16", 17: "uint16"},
    **{19: "float16", 22: "uint32", 23: "uint64"},
}
# Their second input lists the axes, and is no data.
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Prod", "Any", "All")


def outputs_of(nodes: Sequence[Any]) -> dict[Source, Operand | None]:
    """None for a node that ran several times with different sizes."""
    operands: dict[Source, Operand | None] = {}
    for node in nodes:
        for output in node.output:
            source, operand = (node.node_name, int(output.slot)), _operand(output)
            operands[source] = operand if operands.get(source, operand) == operand else None
    return operands


def operands_of(
    node: Any, op: str, by_source: Mapping[Source, Operand | None], window: Shape = ()
) -> Operands | None:
    """None if the size of an input or an output is unknown."""
    slots = sorted(int(output.slot) for output in node.output)
    inputs = [by_source.get(source) for source in _sources(node.timeline_label)]
    outputs = [by_source.get((node.node_name, slot)) for slot in slots]
    known_inputs = tuple(operand for operand in inputs if operand is not None)
    known_outputs = tuple(operand for operand in outputs if operand is not None)
    is_known = len(known_inputs) == len(inputs) and len(known_outputs) == len(outputs)
    if not (is_known and outputs):
        return None
    return Operands(_arranged(op, known_inputs), known_outputs, window)


def windows_of(graphs: Sequence[Any]) -> dict[str, Shape]:
    """Windows of poolings, by the names of their nodes; batch and channels have size 1."""
    return {
        node.name: tuple(int(size) for size in node.attr["ksize"].list.i)
        for graph in graphs
        for node in graph.node
        if "Pool" in node.op and "ksize" in node.attr
    }


def _operand(output: Any) -> Operand | None:
    tensor = output.tensor_description
    if tensor.shape.unknown_rank:
        return None
    dtype = _DTYPES.get(tensor.dtype, f"type {tensor.dtype}")
    return Operand(dtype, tuple(int(dim.size) for dim in tensor.shape.dim))


def _sources(label: str) -> list[Source]:
    """``y = Op(a, b:1, ^c)`` → a:0 and b:1; c is only waited for."""
    arguments = label.partition(" = ")[2].partition("(")[2].removesuffix(")")
    names = [name.strip() for name in arguments.split(",")]
    sources = []
    for name in names:
        if name and not name.startswith("^"):
            node, _, slot = name.partition(":")
            sources.append((node, int(slot) if slot.isdigit() else 0))
    return sources


def _arranged(op: str, inputs: tuple[Operand, ...]) -> tuple[Operand, ...]:
    if op in _REDUCTIONS:
        return inputs[:1]
    if "Conv" not in op or len(inputs) < 2 or len(inputs[1].shape) < 3:
        return inputs
    first, filters, *rest = inputs
    *sides, before, after = filters.shape
    if "BackpropInput" in op:  # output sizes, filters [height, width, out, in], data
        turned = Operand(filters.dtype, (after, before, *sides))
        return (*rest[:1], turned, *rest[1:], first)
    if "Depthwise" in op:  # [height, width, channels, output channels for each]
        return (first, Operand(filters.dtype, (before * after, 1, *sides)), *rest)
    return (first, Operand(filters.dtype, (after, before, *sides)), *rest)
