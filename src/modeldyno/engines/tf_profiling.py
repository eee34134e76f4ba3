"""TensorFlow's own trace of a run: what each node took, in nanoseconds.

A node's time is all that TensorFlow does for it: fetching its inputs, its kernel, giving back the
memory that nobody needs any more. The way to it counts as its own: a model with fewer nodes would
not have it. A Keras model has hundreds that only read a variable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from modeldyno.core.sessions import CallContract, SessionFacts
from modeldyno.core.traces import Trace
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import RecordedCalls
from modeldyno.engines.tallies import Event, Tally
from modeldyno.engines.tf_operands import Shape, operands_of, outputs_of, windows_of

# Half of what lies between two small nodes, where sizes and names are written down.
_MOST_EVENT_NS = 1_000
# They hand on what is given and asked for: the call itself, no part of the model.
_ENDS = ("NoOp", "_Arg", "_Retval")


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
            told = self._session.metadata()
            outputs = traced(told)
            calls.add(told)
            return outputs

        return call

    def recording(self) -> contextlib.AbstractContextManager[None]:
        return self._calls.recording()

    def trace(self, keep: Sequence[bool]) -> Trace:
        tally = Tally(_MOST_EVENT_NS, with_way=True)
        windows = self._windows()
        for told in self._calls.kept(keep):
            tally.add_call(events(told, windows))
        return tally.trace()

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        call: Callable[[], object] = self._session.bare(self._inputs, contract)
        return call

    def _windows(self) -> dict[str, Shape]:
        """A node's settings are in the graph, which TensorFlow tells of one more run."""
        told = self._session.metadata()
        self._session.traced(self._inputs, "api", with_graph=True)(told)
        return windows_of(told.partition_graphs)


def events(told: Any, windows: Mapping[str, Shape] | None = None) -> Iterator[Event]:
    """Of one run: every node that a device has executed."""
    for device in told.step_stats.dev_stats:
        if "/device:" not in device.device:
            continue
        made = outputs_of(device.node_stats)
        for node in device.node_stats:
            op, provider = _kind(node)
            if op in _ENDS:
                continue
            yield Event(
                start_ns=node.all_start_nanos or node.all_start_micros * 1000,
                # Its kernel ends before: to give back its inputs may take longer than a small one.
                duration_ns=max(node.op_end_rel_nanos, node.all_end_rel_nanos),
                key=(node.node_name, op, provider),
                operands=operands_of(node, op, made, (windows or {}).get(node.node_name, ())),
            )


def _kind(node: Any) -> tuple[str, str]:
    """Operator and who computes it: ``name = _MklNativeConv2D(x, y)``."""
    op = node.timeline_label.partition(" = ")[2].partition("(")[0].strip() or node.node_name
    # Its own prefix for kernels that oneDNN brings.
    plain = op.removeprefix("_Mkl").removeprefix("Native") if op.startswith("_Mkl") else op
    return plain, "oneDNN" if plain != op else "Eigen"
