"""Measure several instances of one cell at the same time, each in a worker on cores of its own."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
    from modeldyno.measure.energy import Gauge

HEAD_START_S = 0.05  # from the command to the common start: a message takes far less
FEWEST_CALLS = 20  # of each instance in a window
FOREVER_S = 10**6


@dataclass(frozen=True)
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

    @property
    def shares(self) -> list[tuple[int, ...]]:
        """CPUs for each instance: its own, or shared ones where there are not enough."""
        return list(_shares(self.cpus, len(self.workers), self.side.target.threads))

    def open(self) -> float:
        """Load and warm up: the first alone, for its call decides on the size of all samples;
        then the others at once. Returns seconds per call."""
        commands = [
            OpenSide(
                replace(self.side, target=replace(self.side.target, cpus=cpus)),
                self.plan,
                self.seed + number,
            )
            for number, cpus in enumerate(self.shares)
        ]
        first = self.workers[0].ask(commands[0], SideReady, self.deadline_s, self.stop)
        for worker, command in zip(self.workers[1:], commands[1:], strict=True):
            worker.tell(replace(command, calibration=first.calibration))
        for worker in self.workers[1:]:
            worker.hear(SideReady, self.deadline_s, self.stop)
        return first.calibration.call_s

    def measure(self, seconds: float, skew_s: float = 0.0) -> list[Samples]:
        """The samples of each instance, from one common moment to another.

        With a skew each starts that much later than the one before: what a test wants to see.
        """
        return self._measure(self.workers, seconds, skew_s)

    def measure_one(self, seconds: float) -> Samples:
        """One instance alone, the others idle."""
        (samples,) = self._measure(self.workers[:1], seconds)
        return samples

    def close(self) -> list[Session]:
        for worker in self.workers:
            worker.tell(CloseSide(self.reference, is_own=True))
        return [
            worker.hear(SessionMeasured, self.deadline_s, self.stop).session
            for worker in self.workers
        ]

    def _measure(
        self, workers: Sequence[Worker], seconds: float, skew_s: float = 0.0
    ) -> list[Samples]:
        iterations = self.plan.iterations
        start = time.perf_counter_ns() + round(HEAD_START_S * 1e9)
        end = start + round((seconds if iterations is None else FOREVER_S) * 1e9)
        for number, worker in enumerate(workers):
            worker.tell(MeasureWindow(start + round(number * skew_s * 1e9), end, iterations))
        return [
            worker.hear(WindowMeasured, self.deadline_s, self.stop).samples for worker in workers
        ]


def _shares(cpus: tuple[int, ...], instances: int, cores: int) -> Iterator[tuple[int, ...]]:
    for number in range(instances):
        wanted = range(number * cores, (number + 1) * cores)
        yield tuple(sorted({cpus[place % len(cpus)] for place in wanted}))


def measure_together(crowd: Crowd, seconds: float, gauge: Gauge) -> Session:
    """Load all, wait until the last one is warm, start all at one moment, count what they do.

    One of them also works alone, before or after: what the others cost it.
    """
    from modeldyno.measure.instances import joined

    seconds = max(seconds, FEWEST_CALLS * crowd.open())
    solo: Samples | None = None
    wants_solo = crowd.plan.iterations is None  # else exactly so many calls were asked for
    is_solo_first = random.Random(crowd.seed).random() < 0.5  # noqa: S311 - an order
    if wants_solo and is_solo_first:
        solo = crowd.measure_one(seconds / 2)
    before = gauge.start()
    windows = crowd.measure(seconds)
    energy = gauge.stop(before, sum(map(_calls, windows)))
    if wants_solo and not is_solo_first:
        solo = crowd.measure_one(seconds / 2)
    return replace(joined(crowd.close(), windows, solo, len(crowd.cpus)), energy=energy)


def meter_one(crowd: Crowd, seconds: float, gauge: Gauge) -> Energy:
    """What the calls of one instance take from the meter, while nothing else is done."""
    seconds = max(seconds, crowd.open())
    before = gauge.start()
    samples = crowd.measure_one(seconds)
    energy = gauge.stop(before, _calls(samples))
    crowd.close()
    return energy


def _calls(samples: Samples) -> int:
    return len(samples.wall_ns) * samples.calls_per_sample
