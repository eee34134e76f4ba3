"""What TensorFlow's nodes take and make: a traced run tells the sizes of all that came out of each.

A node's label names where its inputs come from. Filters lie [height, width, in, out] there, and
are turned to where ``core/work.py`` expects them: out first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modeldyno.core.work import Operand, Operands

Source = tuple[str, int]  # node, and which of its outputs
Shape = tuple[int, ...]

# By their numbers in TensorFlow.
_DTYPES = {
    **{1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64"},
    **{10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16", 17: "uint16"},
    **{19: "float16", 22: "uint32", 23: "uint64"},
}
# Along which sides is said by a second input, which is no data.
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Prod", "Any", "All")


def outputs_of(nodes: Sequence[Any]) -> dict[Source, Operand | None]:
    """None where a node ran several times, with other sizes."""
    found: dict[Source, Operand | None] = {}
    for node in nodes:
        for output in node.output:
            source, made = (node.node_name, int(output.slot)), _operand(output)
            found[source] = made if found.get(source, made) == made else None
    return found


def operands_of(
    node: Any, op: str, made: Mapping[Source, Operand | None], window: Shape = ()
) -> Operands | None:
    """None where the size of an input or an output is not known."""
    slots = sorted(int(output.slot) for output in node.output)
    inputs = [made.get(source) for source in _sources(node.timeline_label)]
    outputs = [made.get((node.node_name, slot)) for slot in slots]
    known = [one for one in inputs if one is not None]
    results = [one for one in outputs if one is not None]
    if len(known) < len(inputs) or len(results) < len(outputs) or not results:
        return None
    return Operands(_arranged(op, tuple(known)), tuple(results), window)


def windows_of(graphs: Sequence[Any]) -> dict[str, Shape]:
    """Of poolings, by the names of their nodes; batch and channels are sides of 1."""
    return {
        node.name: tuple(int(size) for size in node.attr["ksize"].list.i)
        for graph in graphs
        for node in graph.node
        if "Pool" in node.op and "ksize" in node.attr
    }


def _operand(output: Any) -> Operand | None:
    said = output.tensor_description
    if said.shape.unknown_rank:
        return None
    dtype = _DTYPES.get(said.dtype, f"type {said.dtype}")
    return Operand(dtype, tuple(int(side.size) for side in said.shape.dim))


def _sources(label: str) -> list[Source]:
    """``y = Op(a, b:1, ^c)`` → a:0 and b:1; it only waits for c."""
    inside = label.partition(" = ")[2].partition("(")[2].removesuffix(")")
    names = [name.strip() for name in inside.split(",")]
    found = []
    for name in names:
        if name and not name.startswith("^"):
            node, _, slot = name.partition(":")
            found.append((node, int(slot) if slot.isdigit() else 0))
    return found


def _arranged(op: str, inputs: tuple[Operand, ...]) -> tuple[Operand, ...]:
    if op in _REDUCTIONS:
        return inputs[:1]
    if "Conv" not in op or len(inputs) < 2 or len(inputs[1].shape) < 3:
        return inputs
    first, filters, *rest = inputs
    *sides, before, after = filters.shape
    if "BackpropInput" in op:  # sizes, filters [height, width, out, in], and what goes in
        turned = Operand(filters.dtype, (after, before, *sides))
        return (*rest[:1], turned, *rest[1:], first)
    if "Depthwise" in op:  # [height, width, channels, how many are made of each]
        return (first, Operand(filters.dtype, (before * after, 1, *sides)), *rest)
    return (first, Operand(filters.dtype, (after, before, *sides)), *rest)
