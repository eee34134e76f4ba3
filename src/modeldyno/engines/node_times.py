"""Times of nodes: which recorded calls count, and a profiler's events summed up per node.

No time counts twice, and memory stays bounded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from modeldyno.core.errors import EngineFailed
from modeldyno.core.node_work import Operand, Operands
from modeldyno.core.profiles import MOST_NODES, OTHERS, NodeTime, Trace

Key = tuple[str, str, str]  # node, operator, provider

# A node that took longer than this was interrupted by other work, which waits for no node: times
# of its quickest calls, and room for what caches and interrupts do to short nodes.
_INTERRUPTED = 2.0
_ROOM_NS = 5_000
_QUICK = 0.1  # quantile


@dataclass(frozen=True)
class NodeEvent:
    """A node's execution, as a profiler recorded it."""

    start_ns: int
    duration_ns: int
    key: Key
    device_ns: int | None = None
    operands: Operands | None = None


def known_operands(
    inputs: Sequence[Operand | None], outputs: Sequence[Operand | None]
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]] | None:
    """None if one of them is unknown, or if there are no outputs."""
    if None in inputs or None in outputs or not outputs:
        return None
    return tuple(filter(None, inputs)), tuple(filter(None, outputs))


class Tally:
    """Node times over the calls added to it. Calls in which a node was interrupted count for that
    node as if they had taken as long as its others."""

    def __init__(
        self, most_event_ns: int, truncated_ns: int = 0, *, counts_gaps: bool = False
    ) -> None:
        """``most_event_ns`` is the most that recording an event costs, ``truncated_ns`` what the
        profiler cuts off each duration on average. ``counts_gaps``: the time since the previous
        event counts as the node's own, for it is the cost of getting to it."""
        self._counts_gaps = counts_gaps
        self._most_event_ns = most_event_ns
        self._truncated_ns = truncated_ns
        self._sums: dict[Key, _NodeSum] = {}
        self._calls = 0
        self._outer = 0

    def add_call(self, events: Iterable[NodeEvent]) -> None:
        """The time of an event inside another is subtracted from the outer one."""
        self._calls += 1
        previous_end_ns: int | None = None  # of the last outermost event
        enclosing: list[tuple[int, _NodeSum]] = []  # events still open: their end and their sum
        for event in sorted(events, key=lambda event: (event.start_ns, -event.duration_ns)):
            node = self._find_or_add_sum(event.key)
            end_ns = event.start_ns + event.duration_ns
            while enclosing and enclosing[-1][0] <= event.start_ns:
                enclosing.pop()
            if enclosing:
                enclosing[-1][1].add(self._calls, -event.duration_ns - self._truncated_ns)
                enclosing[-1][1].inner += 1
            else:
                self._outer += 1
                if self._counts_gaps and previous_end_ns is not None:
                    node.add(self._calls, max(0, event.start_ns - previous_end_ns))
                    node.inner += 1  # the profiler recorded the previous event in this time
                previous_end_ns = end_ns
            node.add(self._calls, event.duration_ns + self._truncated_ns)
            node.add_operands(event.operands)
            node.events += 1
            if event.device_ns is not None:
                node.device_ns = (node.device_ns or 0) + event.device_ns
            enclosing.append((end_ns, node))

    def _find_or_add_sum(self, key: Key) -> _NodeSum:
        if key not in self._sums and len(self._sums) >= MOST_NODES - 1:
            key = (OTHERS, OTHERS, "")
        return self._sums.setdefault(key, _NodeSum())

    def trace(self) -> Trace:
        """Nodes in the order of their first events."""
        nodes = tuple(
            NodeTime(*key, uninterrupted_ns(s.calls_ns), s.events, s.inner, s.device_ns, s.operands)
            for key, s in self._sums.items()
        )
        return Trace(
            nodes, self._calls, self._outer, self._most_event_ns, cut_off_ns=self._truncated_ns
        )


def uninterrupted_ns(calls_ns: Sequence[int]) -> int:
    """The sum over all calls, if none had been interrupted; at least 0."""
    ranked = sorted(calls_ns)
    most = _INTERRUPTED * ranked[int(_QUICK * (len(ranked) - 1))] + _ROOM_NS
    undisturbed = [ns for ns in ranked if ns <= most]
    return max(0, round(sum(undisturbed) / len(undisturbed) * len(ranked)))


@dataclass
class _NodeSum:
    calls_ns: list[int] = field(default_factory=list)  # of each call that it ran in
    last_call: int = 0
    events: int = 0
    inner: int = 0
    device_ns: int | None = None
    operands: Operands | None = None

    def add(self, call: int, ns: int) -> None:
        if call != self.last_call:
            self.calls_ns.append(0)
            self.last_call = call
        self.calls_ns[-1] += ns

    def add_operands(self, operands: Operands | None) -> None:
        """Operands are reported only if they are the same in every event."""
        if self.events == 0:
            self.operands = operands
        elif operands != self.operands:
            self.operands = None


# ---------------------------------------------------------------- which calls count


PROFILE_AGAIN = "Profile it again"
Record = TypeVar("Record")


class RecordedCalls(Generic[Record]):
    """A record per call, for profilers that can be read after every call."""

    def __init__(self, profiler: str) -> None:
        self.is_on = False
        self._profiler = profiler
        self._records: list[Record] = []

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record) -> None:
        self._records.append(record)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False

    def select_counted(self, keep: Sequence[bool]) -> list[Record]:
        """The records of the calls that count; raises EngineFailed if some were lost."""
        numbers = counted_calls(len(self), keep, self._profiler)
        return [self._records[number] for number in sorted(numbers)]


def counted_calls(
    calls: int, keep: Sequence[bool], profiler: str, *, fix: str = PROFILE_AGAIN
) -> set[int]:
    """Numbers of the calls that count, out of ``calls`` recorded ones: ``keep`` describes the last
    of them. Raises EngineFailed if fewer were recorded than that."""
    first = calls - len(keep)
    if first < 0:
        raise lost_calls(profiler, calls=len(keep), recorded=calls, fix=fix)
    return {first + number for number, is_kept in enumerate(keep) if is_kept}


def lost_calls(
    profiler: str, *, calls: int, recorded: int, fix: str = PROFILE_AGAIN
) -> EngineFailed:
    return EngineFailed(
        f"{profiler} lost calls", why=f"{calls} were made, it recorded {recorded}", fix=fix
    )
