"""OpenVINO's own profiler: each node's mean over all calls so far, in whole microseconds.

It does not tell calls apart. So calls are timed here as well, and the nodes' total time is divided
among the calls in proportion to their length.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from modeldyno.core.node_work import Operands
from modeldyno.core.profiles import MOST_NODES, OTHERS, NodeTime, Trace
from modeldyno.core.sessions import CallContract
from modeldyno.engines.node_times import Key, counted_calls, lost_calls
from modeldyno.engines.protocol import ProfiledDefaults, Tensors

_PROFILER = "OpenVINO's profiler"
_MOST_EVENT_NS = 2_000
# Both the time of a node in each call and the mean over calls are rounded down to microseconds.
_CUT_OFF_NS = 2 * 500


@dataclass(frozen=True)
class CompiledNode:
    """A node of the compiled graph."""

    name: str  # the same each time the model is compiled
    operands: Operands | None
    parts: tuple[str, ...]  # names of the model's nodes that were merged into it


@dataclass(frozen=True)
class Reading:
    """Total nanoseconds of each node over a number of calls."""

    calls: int = 0
    totals_ns: dict[Key, int] = field(default_factory=dict)

    def since(self, earlier: Reading) -> Reading:
        totals = {key: ns - earlier.totals_ns.get(key, 0) for key, ns in self.totals_ns.items()}
        return Reading(self.calls - earlier.calls, totals)

    def plus(self, other: Reading) -> Reading:
        keys = dict.fromkeys((*self.totals_ns, *other.totals_ns))
        totals = {k: self.totals_ns.get(k, 0) + other.totals_ns.get(k, 0) for k in keys}
        return Reading(self.calls + other.calls, totals)


def reading(calls: int, nodes: Sequence[Any], provider: str, earlier: Reading) -> Reading:
    """From OpenVINO's list of nodes, after that many calls.

    Nodes merged into others are listed as not executed. So are nodes that take less than a
    microsecond on average; those count as executed if they were in the ``earlier`` reading.
    """
    totals: dict[Key, int] = {}
    for node in nodes:
        key = (str(node.node_name), str(node.node_type), provider)
        if node.status == node.Status.EXECUTED or key in earlier.totals_ns:
            mean_ns = round(node.real_time.total_seconds() * 1e9) + _CUT_OFF_NS
            totals[key] = totals.get(key, 0) + calls * mean_ns
    return Reading(calls, totals)


class OpenVinoProfiled(ProfiledDefaults):
    """A session compiled with node timing, which costs next to nothing: no bare call is needed."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._calls = 0  # since it was compiled: the means are over all of them
        self._walls_ns: list[int] = []  # of the recorded calls
        self._is_recording = False
        self._recorded = Reading()  # total of the recordings before the current one
        self._first = self._begin = self._end = Reading()  # the last two: of the current one

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        call: Callable[[], object] = self._session.bind(inputs, contract)
        clock, walls_ns = time.perf_counter_ns, self._walls_ns

        def counted() -> object:
            start = clock()
            outputs = call()
            if self._is_recording:
                walls_ns.append(clock() - start)
            self._calls += 1
            if self._calls == 1:  # the slowest call: every node takes at least a microsecond
                self._first = self._take_reading()
            return outputs

        return counted

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        if self._calls != self._end.calls:  # there were unrecorded calls in between
            self._recorded = self._recorded.plus(self._end.since(self._begin))
            self._begin = self._take_reading()
        self._is_recording = True
        try:
            yield
        finally:
            self._is_recording = False
            self._end = self._take_reading()

    def trace(self, keep: Sequence[bool]) -> Trace:
        recorded = self._recorded.plus(self._end.since(self._begin))
        trace = divide_among_calls(recorded, self._walls_ns, keep)
        compiled: dict[str, CompiledNode] = self._session.compiled_nodes()
        return replace(trace, nodes=tuple(_add_details(node, compiled) for node in trace.nodes))

    def _take_reading(self) -> Reading:
        provider = "+".join(self.facts.providers)
        return reading(self._calls, self._session.profiling(), provider, self._first)


def _add_details(node: NodeTime, compiled: dict[str, CompiledNode]) -> NodeTime:
    details = compiled.get(node.node)
    if details is None:
        return node
    return replace(node, node=details.name, operands=details.operands, parts=details.parts)


def divide_among_calls(recorded: Reading, walls_ns: Sequence[int], keep: Sequence[bool]) -> Trace:
    """The calls that count get the share of node time that they have of all calls' wall time."""
    if recorded.calls != len(walls_ns):
        raise lost_calls(_PROFILER, calls=len(walls_ns), recorded=recorded.calls)
    counted = counted_calls(recorded.calls, keep, _PROFILER)
    share = sum(walls_ns[number] for number in counted) / max(1, sum(walls_ns))
    sums: dict[Key, tuple[int, int]] = {}
    for key, total_ns in recorded.totals_ns.items():
        row = key if len(sums) < MOST_NODES - 1 else (OTHERS, OTHERS, "")
        ns, events = sums.get(row, (0, 0))
        sums[row] = (ns + max(0, round(total_ns * share)), events + len(counted))
    nodes = tuple(NodeTime(*key, ns, events) for key, (ns, events) in sums.items())
    events = sum(node.events for node in nodes)
    return Trace(nodes, len(counted), events, _MOST_EVENT_NS, cut_off_ns=_CUT_OFF_NS, is_mean=True)
