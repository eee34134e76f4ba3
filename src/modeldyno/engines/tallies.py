"""From the events of a profiler to times of nodes: nothing counts twice, and nothing grows without
bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from modeldyno.core.traces import MOST_NODES, OTHERS, NodeTime, Trace
from modeldyno.core.work import Operands

Key = tuple[str, str, str]  # node, operator, provider


@dataclass(frozen=True)
class Event:
    start_ns: int
    duration_ns: int
    key: Key
    device_ns: int | None = None
    operands: Operands | None = None


class Tally:
    """Sums of the calls that it is given, one after the other."""

    def __init__(
        self, most_event_ns: int, truncated_ns: int = 0, *, with_way: bool = False
    ) -> None:
        """``most_event_ns`` is the most that recording an event costs, ``truncated_ns`` what the
        profiler cuts off each duration on average. ``with_way``: an event has the time since the
        one before, for that is the way to it."""
        self._with_way = with_way
        self._most_event_ns = most_event_ns
        self._truncated_ns = truncated_ns
        self._sums: dict[Key, _Sum] = {}
        self._calls = 0
        self._outer = 0

    def add_call(self, events: Iterable[Event]) -> None:
        """An event inside another is taken out of that one's time."""
        self._calls += 1
        before_ns: int | None = None  # when the last event ended that lay in no other
        around: list[tuple[int, _Sum]] = []  # what is still open: where it ends, and its sum
        for event in sorted(events, key=lambda event: (event.start_ns, -event.duration_ns)):
            found = self._sum(event.key)
            end_ns = event.start_ns + event.duration_ns
            while around and around[-1][0] <= event.start_ns:
                around.pop()
            if around:
                around[-1][1].self_ns -= event.duration_ns
                around[-1][1].inner += 1
            else:
                self._outer += 1
                if self._with_way and before_ns is not None:
                    found.self_ns += max(0, event.start_ns - before_ns)
                    found.inner += 1  # the event before was recorded in this time
                before_ns = end_ns
            found.self_ns += event.duration_ns + self._truncated_ns
            found.note(event.operands)
            found.events += 1
            if event.device_ns is not None:
                found.device_ns = (found.device_ns or 0) + event.device_ns
            around.append((end_ns, found))

    def _sum(self, key: Key) -> _Sum:
        if key not in self._sums and len(self._sums) >= MOST_NODES - 1:
            key = (OTHERS, OTHERS, "")
        return self._sums.setdefault(key, _Sum())

    def trace(self) -> Trace:
        """In the order in which nodes were first seen."""
        nodes = tuple(
            NodeTime(*key, max(0, s.self_ns), s.events, s.inner, s.device_ns, s.operands)
            for key, s in self._sums.items()
        )
        return Trace(nodes, self._calls, self._outer, self._most_event_ns)


@dataclass
class _Sum:
    self_ns: int = 0
    events: int = 0
    inner: int = 0
    device_ns: int | None = None
    operands: Operands | None = None

    def note(self, operands: Operands | None) -> None:
        """Kept as long as it is the same each time."""
        if self.events == 0:
            self.operands = operands
        elif operands != self.operands:
            self.operands = None
