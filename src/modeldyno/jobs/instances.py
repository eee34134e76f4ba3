"""Measure several instances of one cell at the same time, each in a worker on cores of its own."""

from __future__ import annotations

import random
import selectors
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from modeldyno.core.errors import Cancelled
from modeldyno.core.sessions import Energy, Samples, Session, SessionPlan
from modeldyno.worker.launch import Stop, Worker
from modeldyno.worker.messages import (
    CloseSide,
    MeasureWindow,
    OpenSide,
    SessionMeasured,
    Side,
    SideReady,
    WindowMeasured,
)

if TYPE_CHECKING:
    from modeldyno.measure.energy import EnergyGauge

HEAD_START_S = 0.05  # from the command to the common start: a message takes far less
MANY_CALLS, FEW_CALLS = 20, 4  # of each instance in a window
FOREVER_S = 10**6


@dataclass
class Crowd:
    """Instances that are measured together."""

    workers: Sequence[Worker]
    side: Side  # what each of them loads
    cpus: tuple[int, ...]  # of all of them
    reference: str
    plan: SessionPlan
    seed: int
    deadline_s: float
    stop: Stop
    call_s: float = 0.0  # known once they are open

    @property
    def shares(self) -> list[tuple[int, ...]]:
        """CPUs for each instance: its own, or shared ones where there are not enough."""
        return list(_shares(self.cpus, len(self.workers), self.side.target.threads))

    def open(self) -> None:
        """Load and warm up: the first alone, for its call decides on the size of all samples;
        then the others at once."""
        commands = [
            OpenSide(
                replace(self.side, target=replace(self.side.target, cpus=cpus)),
                self.plan,
                self.seed + number,
            )
            for number, cpus in enumerate(self.shares)
        ]
        first = self.workers[0].request(commands[0], SideReady, self.deadline_s, self.stop)
        for worker, command in zip(self.workers[1:], commands[1:], strict=True):
            worker.send(replace(command, calibration=first.calibration))
        for worker in self.workers[1:]:
            worker.receive(SideReady, self.deadline_s, self.stop)
        self.call_s = first.calibration.call_s

    def measure(self, seconds: float, skew_s: float = 0.0) -> list[Samples]:
        """The samples of each instance, from one common moment to another.

        With a skew each starts that much later than the one before: what a test wants to see.
        """
        self._start(self.workers, seconds, skew_s)
        return self._hear(self.workers)

    def measure_one(self, seconds: float) -> Samples:
        """One instance alone, the others idle."""
        self._start(self.workers[:1], seconds)
        (samples,) = self._hear(self.workers[:1])
        return samples

    def measure_metered(self, seconds: float, gauge: EnergyGauge) -> tuple[list[Samples], Energy]:
        """As ``measure``, and what the meter counted from the first moment to the last: only calls
        happen in between."""
        from modeldyno.measure.instances import calls_within

        start, end = self._start(self.workers, seconds)
        if not gauge.has_meter or self.plan.iterations is not None:
            return self._hear(self.workers), gauge.unread()
        first = self._wait_until(start)
        before = gauge.start()
        last = self._wait_until(end)
        spent = gauge.stop(before, 0)
        windows = self._hear(self.workers)
        made = sum(calls_within(one, (first, last)) for one in windows)
        return windows, replace(spent, calls=made)

    def close(self) -> list[Session]:
        for worker in self.workers:
            worker.send(CloseSide(self.reference, is_own=True))
        return [
            worker.receive(SessionMeasured, self.deadline_s, self.stop).session
            for worker in self.workers
        ]

    def _start(
        self, workers: Sequence[Worker], seconds: float, skew_s: float = 0.0
    ) -> tuple[int, int]:
        """Tell them when to begin and when to end, on the clock they share with us."""
        iterations = self.plan.iterations
        # Each makes a call before, so that the first one that counts finds its cache warm.
        start = time.perf_counter_ns() + round((HEAD_START_S + 2 * self.call_s) * 1e9)
        end = start + round((seconds if iterations is None else FOREVER_S) * 1e9)
        for number, worker in enumerate(workers):
            worker.send(MeasureWindow(start + round(number * skew_s * 1e9), end, iterations))
        return start, end

    def _hear(self, workers: Sequence[Worker]) -> list[Samples]:
        return [
            worker.receive(WindowMeasured, self.deadline_s, self.stop).samples for worker in workers
        ]

    def _wait_until(self, moment_ns: int) -> int:
        """Asleep, but a wish to stop is noticed at once; the moment it really was."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.stop, selectors.EVENT_READ)
            selector.select(max(0.0, (moment_ns - time.perf_counter_ns()) / 1e9))
        if self.stop.requested:
            raise Cancelled("Stopped on request")
        return time.perf_counter_ns()


def _shares(cpus: tuple[int, ...], instances: int, cores: int) -> Iterator[tuple[int, ...]]:
    for number in range(instances):
        wanted = range(number * cores, (number + 1) * cores)
        yield tuple(sorted({cpus[place % len(cpus)] for place in wanted}))


def measure_together(crowd: Crowd, seconds: float, gauge: EnergyGauge) -> Session:
    """Load all, wait until the last one is warm, start all at one moment, count what they do.

    One of them also works alone, before or after: what the others cost it.
    """
    from modeldyno.measure.instances import join_instances

    crowd.open()
    seconds = _long_enough(seconds, crowd.call_s, crowd.plan)
    solo: Samples | None = None
    wants_solo = crowd.plan.iterations is None  # else exactly so many calls were asked for
    is_solo_first = random.Random(crowd.seed).random() < 0.5  # noqa: S311 - an order
    if wants_solo and is_solo_first:
        solo = crowd.measure_one(seconds / 2)
    windows, energy = crowd.measure_metered(seconds, gauge)
    if wants_solo and not is_solo_first:
        solo = crowd.measure_one(seconds / 2)
    return replace(join_instances(crowd.close(), windows, solo, len(crowd.cpus)), energy=energy)


def meter_one(crowd: Crowd, seconds: float, gauge: EnergyGauge) -> Energy:
    """What the calls of one instance take from the meter."""
    crowd.open()
    seconds = _long_enough(seconds, crowd.call_s, crowd.plan)
    _, energy = crowd.measure_metered(seconds, gauge)
    crowd.close()
    return energy


def _long_enough(seconds: float, call_s: float, plan: SessionPlan) -> float:
    """Many calls in a window, as far as the budget of a session goes; a few in any case."""
    most = max(seconds, plan.max_time_s or 0.0)
    return max(min(max(seconds, MANY_CALLS * call_s), most), FEW_CALLS * call_s)
