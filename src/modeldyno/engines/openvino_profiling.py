"""OpenVINO's own profiler: each node's mean over all calls so far, in whole microseconds.

It does not tell calls apart. So they are timed here as well, and what the nodes took in all of them
is shared out to those that count, by their length.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from modeldyno.core.sessions import CallContract, SessionFacts
from modeldyno.core.traces import MOST_NODES, OTHERS, NodeTime, Trace
from modeldyno.core.work import Operands
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import lost_calls, wanted
from modeldyno.engines.tallies import Key

_PROFILER = "OpenVINO's profiler"
_MOST_EVENT_NS = 2_000
# A node's time is cut off to whole microseconds in each call, and so is the mean of all calls.
_CUT_OFF_NS = 2 * 500


@dataclass(frozen=True)
class Described:
    """A node of the compiled graph."""

    name: str  # the same each time that the model is compiled
    operands: Operands | None
    parts: tuple[str, ...]  # names of the model's nodes that it was made of


@dataclass(frozen=True)
class Reading:
    """Nanoseconds of each node, in so many calls together."""

    calls: int = 0
    totals_ns: dict[Key, int] = field(default_factory=dict)

    def since(self, before: Reading) -> Reading:
        rest = {key: ns - before.totals_ns.get(key, 0) for key, ns in self.totals_ns.items()}
        return Reading(self.calls - before.calls, rest)

    def plus(self, other: Reading) -> Reading:
        keys = dict.fromkeys((*self.totals_ns, *other.totals_ns))
        both = {k: self.totals_ns.get(k, 0) + other.totals_ns.get(k, 0) for k in keys}
        return Reading(self.calls + other.calls, both)


def reading(calls: int, told: Sequence[Any], provider: str, before: Reading) -> Reading:
    """From OpenVINO's list of nodes, after so many calls.

    Those that it made part of others did not run. It says the same of those that take less than a
    microsecond in the mean: they ran all the same when they did in a reading ``before``.
    """
    totals: dict[Key, int] = {}
    for node in told:
        key = (str(node.node_name), str(node.node_type), provider)
        if node.status == node.Status.EXECUTED or key in before.totals_ns:
            mean_ns = round(node.real_time.total_seconds() * 1e9) + _CUT_OFF_NS
            totals[key] = totals.get(key, 0) + calls * mean_ns
    return Reading(calls, totals)


class OpenVinoProfiled:
    """A session that was compiled to time its nodes."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._calls = 0  # since it was compiled: what the means are taken over
        self._walls_ns: list[int] = []  # of the recorded ones
        self._is_recording = False
        self._recorded = Reading()  # what is closed; since then …
        self._first = self._begin = self._end = Reading()

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        call: Callable[[], object] = self._session.bind(inputs, contract)
        clock, walls_ns = time.perf_counter_ns, self._walls_ns

        def counted() -> object:
            start = clock()
            outputs = call()
            if self._is_recording:
                walls_ns.append(clock() - start)
            self._calls += 1
            if self._calls == 1:  # the slowest: every node that runs takes its microsecond
                self._first = self._now()
            return outputs

        return counted

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        if self._calls != self._end.calls:  # some were not recorded in between
            self._recorded = self._recorded.plus(self._end.since(self._begin))
            self._begin = self._now()
        self._is_recording = True
        try:
            yield
        finally:
            self._is_recording = False
            self._end = self._now()

    def trace(self, keep: Sequence[bool]) -> Trace:
        recorded = self._recorded.plus(self._end.since(self._begin))
        trace = shared_out(recorded, self._walls_ns, keep)
        described: dict[str, Described] = self._session.described()
        return replace(trace, nodes=tuple(_with(node, described) for node in trace.nodes))

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        return None  # its timing costs next to nothing: what is in no node can be seen directly

    def _now(self) -> Reading:
        provider = "+".join(self.facts.providers)
        return reading(self._calls, self._session.profiling(), provider, self._first)


def _with(node: NodeTime, described: dict[str, Described]) -> NodeTime:
    found = described.get(node.node)
    if found is None:
        return node
    return replace(node, node=found.name, operands=found.operands, parts=found.parts)


def shared_out(recorded: Reading, walls_ns: Sequence[int], keep: Sequence[bool]) -> Trace:
    """The calls to be kept have that part of all nodes' time that they have of all calls' time."""
    if recorded.calls != len(walls_ns):
        raise lost_calls(_PROFILER, made=len(walls_ns), seen=recorded.calls)
    counted = wanted(recorded.calls, keep, _PROFILER)
    share = sum(walls_ns[number] for number in counted) / max(1, sum(walls_ns))
    sums: dict[Key, tuple[int, int]] = {}
    for key, total_ns in recorded.totals_ns.items():
        at = key if len(sums) < MOST_NODES - 1 else (OTHERS, OTHERS, "")
        ns, events = sums.get(at, (0, 0))
        sums[at] = (ns + max(0, round(total_ns * share)), events + len(counted))
    nodes = tuple(NodeTime(*key, ns, events) for key, (ns, events) in sums.items())
    return Trace(nodes, len(counted), sum(node.events for node in nodes), _MOST_EVENT_NS)
