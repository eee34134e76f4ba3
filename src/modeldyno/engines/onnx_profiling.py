"""ONNX Runtime's own profiler: a trace of JSON lines, read line by line.

Each line is an event; those of a call come before its ``model_run``. Durations are rounded down to
whole microseconds. It records from the moment a session is opened, so earlier calls are skipped.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from modeldyno.core.node_work import Operand, Operands
from modeldyno.core.profiles import NodeTime, Trace
from modeldyno.core.sessions import CallContract
from modeldyno.engines.node_times import NodeEvent, Tally, counted_calls
from modeldyno.engines.onnx_optimized import PACKED, OptimizedGraph
from modeldyno.engines.protocol import ProfiledDefaults

KERNEL = "_kernel_time"
_CALL = "model_run"
_MOST_EVENT_NS = 100_000  # ten times what the slowest machine needed; see _event_ns
_CUT_OFF_NS = 500  # of each duration, on average
_CHAIN, _CHAIN_CALLS = 32, 100  # nodes that compute next to nothing, and calls of them
_MAX_LINE_BYTES = 1 << 20  # a node with thousands of inputs lists them all on its line


class OnnxProfiled(ProfiledDefaults):
    """A session under the profiler; ``open_bare`` opens a session of the given model file, with the
    profiler if its second argument is true, and ``read_optimized`` the graph that ONNX Runtime
    runs."""

    def __init__(
        self,
        session: Any,
        open_bare: Callable[[bytes, bool], Any] | None,
        read_optimized: Callable[[], OptimizedGraph | None],
    ) -> None:
        self._session = session
        self._open_bare = open_bare
        self._read_optimized = read_optimized
        self._trace: Path | None = None

    def trace(self, keep: Sequence[bool]) -> Trace:
        self.end()
        assert self._trace is not None
        trace = replace(read_trace(self._trace, keep), event_ns=self._event_ns())
        if not any(node.op_type in PACKED for node in trace.nodes):
            return trace
        optimized = self._read_optimized()
        return replace(trace, nodes=tuple(_with_weights(node, optimized) for node in trace.nodes))

    def _event_ns(self) -> int | None:
        """What recording costs inside a node, here and now: by the trace, less what it takes.

        The quickest calls count, since other work interrupts only some of such short ones."""
        if self._open_bare is None:
            return None
        import numpy as np

        model, inputs = chain_model(_CHAIN), {"x0": np.zeros((1, 1, 1, 1), np.float32)}
        plain = self._open_bare(model, False).bind(inputs, "hot")
        session = self._open_bare(model, True)
        recorded = session.bind(inputs, "hot")
        walls_ns: list[int] = []
        for _ in range(_CHAIN_CALLS):
            start = time.perf_counter_ns()
            plain()
            walls_ns.append(time.perf_counter_ns() - start)
            recorded()
        path = Path(session.raw.end_profiling())
        trace = read_trace(path, [True] * _CHAIN_CALLS)
        path.unlink()
        recorded_ns = sum(node.self_ns for node in trace.nodes) / trace.calls / _CHAIN
        plain_ns = sorted(walls_ns)[_CHAIN_CALLS // 4] / _CHAIN
        return max(0, round(recorded_ns - plain_ns))

    def end(self) -> None:
        if self._trace is None:
            self._trace = Path(self._session.raw.end_profiling())

    def close(self) -> None:
        """Removes the file of the profiler."""
        self.end()
        assert self._trace is not None
        self._trace.unlink(missing_ok=True)

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        """The same call of a model that passes as many inputs on to as many outputs."""
        if self._open_bare is None:
            return None
        import numpy as np

        raw = self._session.raw
        counts = len(raw.get_inputs()), len(raw.get_outputs())
        if 0 in counts:
            return None
        session = self._open_bare(bare_model(*counts), False)
        inputs = {f"x{number}": np.zeros(1, np.float32) for number in range(counts[0])}
        call: Callable[[], object] = session.bind(inputs, contract)
        return call


def _with_weights(node: NodeTime, optimized: OptimizedGraph | None) -> NodeTime:
    """A packed kernel lists its weights as bytes, or not at all."""
    if node.op_type not in PACKED or node.operands is None:
        return node
    weights = optimized.weights(node.node, node.op_type) if optimized else None
    if weights is None:
        return replace(node, operands=None)
    inputs = (*node.operands.inputs[:1], *weights.constants)
    return replace(node, operands=replace(node.operands, inputs=inputs))


# ---------------------------------------------------------------- the trace


def read_trace(path: Path, keep: Sequence[bool]) -> Trace:
    """Node times over the last ``len(keep)`` calls, counting those marked True."""
    calls = sum(1 for event in _iterate_events(path) if event.get("name") == _CALL)
    fix = "Profile it with a larger batch: fewer calls are enough then"
    counted = counted_calls(calls, keep, "ONNX Runtime's profiler", fix=fix)
    tally, number = Tally(_MOST_EVENT_NS, _CUT_OFF_NS), 0
    kernels: list[NodeEvent] = []
    for event in _iterate_events(path):
        name = event.get("name", "")
        if name == _CALL:
            if number in counted:
                tally.add_call(kernels)
            number, kernels = number + 1, []
        elif number in counted and name.endswith(KERNEL):
            kernels.append(_kernel_to_node_event(event, name))
    return tally.trace()


def _kernel_to_node_event(event: dict[str, Any], name: str) -> NodeEvent:
    details = event.get("args", {})
    provider = str(details.get("provider", ""))
    duration_ns = int(event["dur"]) * 1000
    return NodeEvent(
        start_ns=int(event["ts"]) * 1000,
        duration_ns=duration_ns,
        key=(name.removesuffix(KERNEL), str(details.get("op_name", "")), provider),
        device_ns=None if provider in ("", "CPUExecutionProvider") else duration_ns,
        operands=_read_operands(details),
    )


def _read_operands(details: dict[str, Any]) -> Operands | None:
    """Written as ``[{"float": [1, 3, 224, 224]}]``, without weights that were packed."""
    try:
        inputs, outputs = (
            tuple(
                Operand(kind, tuple(map(int, shape)))
                for operand in details.get(f"{side}_type_shape") or ()
                for kind, shape in operand.items()
            )
            for side in ("input", "output")
        )
    except (AttributeError, TypeError, ValueError):
        return None
    return Operands(inputs, outputs) if outputs else None


def _iterate_events(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            text = line.strip().removesuffix(",")
            if not text.startswith("{"):  # the outermost brackets, or the rest of a too long line
                continue
            with contextlib.suppress(ValueError):
                yield json.loads(text)


# ---------------------------------------------------------------- a model that computes nothing


def bare_model(inputs: int, outputs: int) -> bytes:
    """An ONNX file whose outputs are its inputs; encoded by hand, as a worker has no ``onnx``."""
    graph = b"".join(
        _encode_message(
            1,
            _encode_text(1, f"x{number % inputs}")
            + _encode_text(2, f"y{number}")
            + _encode_text(4, "Identity"),
        )
        for number in range(outputs)
    )
    graph += _encode_text(2, "bare")
    graph += b"".join(
        _encode_message(11, _encode_value_info(f"x{number}")) for number in range(inputs)
    )
    graph += b"".join(
        _encode_message(12, _encode_value_info(f"y{number}")) for number in range(outputs)
    )
    return (
        _encode_number(1, 8) + _encode_message(7, graph) + _encode_message(8, _encode_number(2, 13))
    )


def chain_model(length: int) -> bytes:
    """An ONNX file of nodes of one element, each after the other, as wide as usual: two inputs of
    four dimensions, since the profiler writes down all of them."""
    names = ["x0", *(f"y{number}" for number in range(length))]
    graph = b"".join(
        _encode_message(
            1,
            _encode_text(1, before)
            + _encode_text(1, "x0")
            + _encode_text(2, after)
            + _encode_text(4, "Max"),
        )
        for before, after in pairwise(names)
    )
    graph += _encode_text(2, "chain")
    graph += _encode_message(11, _encode_value_info("x0", 4)) + _encode_message(
        12, _encode_value_info(names[-1], 4)
    )
    return (
        _encode_number(1, 8) + _encode_message(7, graph) + _encode_message(8, _encode_number(2, 13))
    )


def _encode_value_info(name: str, rank: int = 1) -> bytes:
    shape = _encode_message(1, _encode_number(1, 1)) * rank  # a single element
    float32 = 1
    return _encode_text(1, name) + _encode_message(
        2, _encode_message(1, _encode_number(1, float32) + _encode_message(2, shape))
    )


def _encode_text(field: int, text: str) -> bytes:
    return _encode_message(field, text.encode())


def _encode_message(field: int, content: bytes) -> bytes:
    return _encode_varint(field << 3 | 2) + _encode_varint(len(content)) + content


def _encode_number(field: int, number: int) -> bytes:
    return _encode_varint(field << 3) + _encode_varint(number)


def _encode_varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
