"""TensorFlow's own trace of a run: what each node took, in nanoseconds.

A node's time is all that TensorFlow does for it: fetching its inputs, its kernel, freeing memory.
The gap before a node counts as its own, since a model with fewer nodes would not have it; a Keras
model has hundreds of nodes that only read a variable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from modeldyno.core.sessions import CallContract, SessionFacts
from modeldyno.core.traces import Trace
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import RecordedCalls
from modeldyno.engines.tallies import NodeEvent, Tally
from modeldyno.engines.tf_operands import Shape, operands_of, outputs_of, windows_of

# Half of the gap between two small nodes, in which the trace is written.
_MOST_EVENT_NS = 1_000
# They pass on inputs and outputs: part of the call, not of the model.
_CALL_NODES = ("NoOp", "_Arg", "_Retval")


class TensorFlowProfiled:
    """A session whose calls are traced while they are recorded."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._calls: RecordedCalls[Any] = RecordedCalls("TensorFlow's trace")
        self._inputs: Tensors = {}

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

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
        windows = self._windows()
        for metadata in self._calls.select(keep):
            tally.add_call(node_events(metadata, windows))
        return tally.trace()

    def bare(self, contract: CallContract) -> Callable[[], object]:
        call: Callable[[], object] = self._session.bare(self._inputs, contract)
        return call

    def _windows(self) -> dict[str, Shape]:
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
