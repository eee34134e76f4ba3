"""TensorFlow's own trace of a run: what each node took, in nanoseconds.

A node's time is all that TensorFlow does for it: fetching its inputs, its kernel, freeing memory.
The gap before a node counts as its own, since a model with fewer nodes would not have it; a Keras
model has hundreds of nodes that only read a variable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from modeldyno.core.node_work import Operand, Operands
from modeldyno.core.profiles import Trace
from modeldyno.core.sessions import CallContract
from modeldyno.engines.node_times import NodeEvent, RecordedCalls, Tally, known_operands
from modeldyno.engines.protocol import ProfiledDefaults, Tensors

# Half of the gap between two small nodes, in which the trace is written.
_MOST_EVENT_NS = 1_000
# They pass on inputs and outputs: part of the call, not of the model.
_CALL_NODES = ("NoOp", "_Arg", "_Retval")


class TensorFlowProfiled(ProfiledDefaults):
    """A session whose calls are traced while they are recorded."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._calls: RecordedCalls[Any] = RecordedCalls("TensorFlow's trace")
        self._inputs: Tensors = {}

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        self._inputs = inputs
        plain: Callable[[], object] = self._session.bind(inputs, contract)
        traced: Callable[[Any], object] = self._session.traced(inputs, contract)
        calls = self._calls

        def call() -> object:
            if not calls.is_on:
                return plain()
            metadata = self._session.metadata()
            outputs = traced(metadata)
            calls.add(metadata)
            return outputs

        return call

    def recording(self) -> contextlib.AbstractContextManager[None]:
        return self._calls.recording()

    def trace(self, keep: Sequence[bool]) -> Trace:
        tally = Tally(_MOST_EVENT_NS, counts_gaps=True)
        windows = self._read_windows()
        for metadata in self._calls.select_counted(keep):
            tally.add_call(node_events(metadata, windows))
        return tally.trace()

    def bare(self, contract: CallContract) -> Callable[[], object]:
        call: Callable[[], object] = self._session.bare(self._inputs, contract)
        return call

    def _read_windows(self) -> dict[str, Shape]:
        """Nodes' attributes are in the graph, which an additional run returns."""
        metadata = self._session.metadata()
        self._session.traced(self._inputs, "api", with_graph=True)(metadata)
        return windows_of(metadata.partition_graphs)


def node_events(metadata: Any, windows: Mapping[str, Shape] | None = None) -> Iterator[NodeEvent]:
    """Every node that a device executed in a run, from the RunMetadata of that run."""
    for device in metadata.step_stats.dev_stats:
        if "/device:" not in device.device:
            continue
        outputs = outputs_of(device.node_stats)
        for node in device.node_stats:
            op, provider = _operator_and_provider(node)
            if op in _CALL_NODES:
                continue
            yield NodeEvent(
                start_ns=node.all_start_nanos or node.all_start_micros * 1000,
                # Beyond the kernel's end: freeing the inputs may take longer than a small kernel.
                duration_ns=max(node.op_end_rel_nanos, node.all_end_rel_nanos),
                key=(node.node_name, op, provider),
                operands=operands_of(node, op, outputs, (windows or {}).get(node.node_name, ())),
            )


def _operator_and_provider(node: Any) -> tuple[str, str]:
    """From a label such as ``name = _MklNativeConv2D(x, y)``."""
    op = node.timeline_label.partition(" = ")[2].partition("(")[0].strip() or node.node_name
    # TensorFlow's prefix for oneDNN's kernels.
    plain = op.removeprefix("_Mkl").removeprefix("Native") if op.startswith("_Mkl") else op
    return plain, "oneDNN" if plain != op else "Eigen"


# ---------------------------------------------------------------- operands

# A traced run reports the sizes of each node's outputs; a node's label says where its inputs come
# from. TensorFlow's filters are [height, width, in, out]; they are transposed to what
# ``core/node_work.py`` expects: out first.

Source = tuple[str, int]  # node, and which of its outputs
Shape = tuple[int, ...]

# By TensorFlow's numbers for types.
_DTYPES = {
    **{1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64"},
    **{10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16", 17: "uint16"},
    **{19: "float16", 22: "uint32", 23: "uint64"},
}
# Their second input lists the axes and is not data.
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Prod", "Any", "All")


def outputs_of(nodes: Sequence[Any]) -> dict[Source, Operand | None]:
    """None for a node that ran several times with different sizes."""
    operands: dict[Source, Operand | None] = {}
    for node in nodes:
        for output in node.output:
            source, operand = (node.node_name, int(output.slot)), _read_operand(output)
            operands[source] = operand if operands.get(source, operand) == operand else None
    return operands


def operands_of(
    node: Any, op: str, by_source: Mapping[Source, Operand | None], window: Shape = ()
) -> Operands | None:
    """None if the size of an input or an output is unknown."""
    slots = sorted(int(output.slot) for output in node.output)
    inputs = [by_source.get(source) for source in _parse_label_inputs(node.timeline_label)]
    outputs = [by_source.get((node.node_name, slot)) for slot in slots]
    known = known_operands(inputs, outputs)
    return Operands(_arrange_inputs(op, known[0]), known[1], window) if known else None


def windows_of(graphs: Sequence[Any]) -> dict[str, Shape]:
    """Windows of poolings, by the names of their nodes; batch and channels have size 1."""
    return {
        node.name: tuple(int(size) for size in node.attr["ksize"].list.i)
        for graph in graphs
        for node in graph.node
        if "Pool" in node.op and "ksize" in node.attr
    }


def _read_operand(output: Any) -> Operand | None:
    tensor = output.tensor_description
    if tensor.shape.unknown_rank:
        return None
    dtype = _DTYPES.get(tensor.dtype, f"type {tensor.dtype}")
    return Operand(dtype, tuple(int(dim.size) for dim in tensor.shape.dim))


def _parse_label_inputs(label: str) -> list[Source]:
    """``y = Op(a, b:1, ^c)`` → a:0 and b:1; c is only waited for."""
    arguments = label.partition(" = ")[2].partition("(")[2].removesuffix(")")
    names = [name.strip() for name in arguments.split(",")]
    sources = []
    for name in names:
        if name and not name.startswith("^"):
            node, _, slot = name.partition(":")
            sources.append((node, int(slot) if slot.isdigit() else 0))
    return sources


def _arrange_inputs(op: str, inputs: tuple[Operand, ...]) -> tuple[Operand, ...]:
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
