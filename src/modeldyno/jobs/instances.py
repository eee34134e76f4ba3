"""Workers for the instances of a cell, and how several of them are measured at the same time."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from modeldyno.core.errors import Cancelled
from modeldyno.core.sessions import Energy, Samples, Session, SessionPlan
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.jobs.cells import Cell
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import Stop, Worker, launch
from modeldyno.worker.messages import (
    CloseSide,
    MeasureWindow,
    OpenSide,
    SessionMeasured,
    SessionSpec,
    SideReady,
    WindowMeasured,
)

if TYPE_CHECKING:
    from modeldyno.measure.energy import EnergyGauge

MOST_WAITING = 16  # workers; beyond it, those that have waited longest are closed
HEAD_START_S = 0.05  # from the command to the common start: a message takes far less
MANY_CALLS, FEW_CALLS = 20, 4  # of each instance in a window
FOREVER_S = 10**6


class CellWorkers:
    """Workers for the cells of a benchmark: one for each instance, new ones for each process
    replicate. Between its turns a worker blocks on its pipe and costs nothing but memory."""

    def __init__(self, spec: BenchmarkSpec, context: Context) -> None:
        self._spec = spec
        self._context = context
        self._workers: dict[int, tuple[int, list[Worker]]] = {}  # by cell, oldest turn first

    def of(self, cell: Cell, process: int) -> list[Worker]:
        """The cell's workers in this process replicate, one for each instance."""
        replicate, workers = self._workers.pop(cell.number, (process, []))
        if replicate != process:
            _close_workers(workers)
            workers = []
        if not workers:
            self._make_room(cell.spec.instances)
        self._workers[cell.number] = process, workers  # kept here before the next launch may fail
        while len(workers) < cell.spec.instances:
            workers.append(self._launch(cell))
        return workers

    def dismiss(self, cell: Cell) -> None:
        _, workers = self._workers.pop(cell.number, (0, []))
        _close_workers(workers)

    def close(self) -> None:
        _close_workers([worker for _, workers in self._workers.values() for worker in workers])

    def _launch(self, cell: Cell) -> Worker:
        assert cell.prepared is not None
        return launch(
            self._context.worker_setup(
                self._spec,
                cells=(cell.spec,),
                threads=cell.spec.cores,
                python=cell.prepared.python,
            )
        )

    def _make_room(self, wanted: int) -> None:
        while self._workers and self._count_idle_workers() + wanted > MOST_WAITING:
            oldest = next(iter(self._workers))
            _close_workers(self._workers.pop(oldest)[1])

    def _count_idle_workers(self) -> int:
        return sum(len(workers) for _, workers in self._workers.values())


def _close_workers(workers: list[Worker]) -> None:
    """All of them, even if closing one fails."""
    with ExitStack() as closing:
        for worker in workers:
            closing.callback(worker.close)


@dataclass
class InstanceGroup:
    """Instances that are measured together, each in a worker on its own cores."""

    workers: Sequence[Worker]
    session: SessionSpec  # of each of them
    cpus: tuple[int, ...]  # of all of them
    reference: str
    plan: SessionPlan
    seed: int
    deadline_s: float
    stop: Stop
    call_s: float = 0.0  # known after open()

    @property
    def cpus_by_instance(self) -> list[tuple[int, ...]]:
        """CPUs for each instance: its own, or shared ones if there are not enough."""
        cores = self.session.target.threads
        return [
            tuple(sorted({self.cpus[(first + n) % len(self.cpus)] for n in range(cores)}))
            for first in range(0, len(self.workers) * cores, cores)
        ]

    def open(self) -> None:
        """Load and warm up: the first one alone, since its call decides the size of all samples,
        then the others at once."""
        commands = [
            OpenSide(
                replace(self.session, target=replace(self.session.target, cpus=cpus)),
                self.plan,
                self.seed + number,
            )
            for number, cpus in enumerate(self.cpus_by_instance)
        ]
        first = self.workers[0].request(commands[0], SideReady, self.deadline_s, self.stop)
        for worker, command in zip(self.workers[1:], commands[1:], strict=True):
            worker.send(replace(command, calibration=first.calibration))
        for worker in self.workers[1:]:
            worker.receive(SideReady, self.deadline_s, self.stop)
        self.call_s = first.calibration.call_s

    def measure(self, seconds: float, skew_s: float = 0.0) -> list[Samples]:
        """The samples of each instance, from one common moment to another.

        With a skew, which is for tests, each starts that much later than the one before.
        """
        self._start(self.workers, seconds, skew_s)
        return self._receive(self.workers)

    def measure_one(self, seconds: float) -> Samples:
        """One instance alone, while the others are idle."""
        self._start(self.workers[:1], seconds)
        (samples,) = self._receive(self.workers[:1])
        return samples

    def measure_metered(self, seconds: float, gauge: EnergyGauge) -> tuple[list[Samples], Energy]:
        """Like ``measure``, with the energy spent in the window; only calls happen in it."""
        from modeldyno.measure.instances import calls_within

        start, end = self._start(self.workers, seconds)
        if not gauge.has_meter or self.plan.iterations is not None:
            return self._receive(self.workers), gauge.unread()
        first = self._wait_until(start)
        before = gauge.start()
        last = self._wait_until(end)
        spent = gauge.stop(before, 0)
        windows = self._receive(self.workers)
        calls = sum(calls_within(samples, (first, last)) for samples in windows)
        return windows, replace(spent, calls=calls)

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
        """Send when to start and stop, on the clock that they share with us; returns both."""
        iterations = self.plan.iterations
        # Each makes a call before that, so that the first one that counts has a warm cache.
        start = time.perf_counter_ns() + round((HEAD_START_S + 2 * self.call_s) * 1e9)
        end = start + round((seconds if iterations is None else FOREVER_S) * 1e9)
        for number, worker in enumerate(workers):
            worker.send(MeasureWindow(start + round(number * skew_s * 1e9), end, iterations))
        return start, end

    def _receive(self, workers: Sequence[Worker]) -> list[Samples]:
        return [
            worker.receive(WindowMeasured, self.deadline_s, self.stop).samples for worker in workers
        ]

    def _wait_until(self, moment_ns: int) -> int:
        """Returns the actual time after the sleep."""
        if self.stop.sleep((moment_ns - time.perf_counter_ns()) / 1e9):
            raise Cancelled("Stopped on request")
        return time.perf_counter_ns()


def measure_together(group: InstanceGroup, seconds: float, gauge: EnergyGauge) -> Session:
    """Load all, wait until the last one is warm, start all at one moment and count their calls.

    One of them also runs alone, before or after: that shows what the others cost it.
    """
    from modeldyno.measure.instances import join_instances

    group.open()
    seconds = _window_s(seconds, group.call_s, group.plan)
    solo: Samples | None = None
    wants_solo = group.plan.iterations is None  # else exactly that many calls are wanted
    is_solo_first = random.Random(group.seed).random() < 0.5  # noqa: S311 - an order
    if wants_solo and is_solo_first:
        solo = group.measure_one(seconds / 2)
    windows, energy = group.measure_metered(seconds, gauge)
    if wants_solo and not is_solo_first:
        solo = group.measure_one(seconds / 2)
    return replace(join_instances(group.close(), windows, solo, len(group.cpus)), energy=energy)


def meter_one(group: InstanceGroup, seconds: float, gauge: EnergyGauge) -> Energy:
    """The energy that the calls of one instance take."""
    group.open()
    seconds = _window_s(seconds, group.call_s, group.plan)
    _, energy = group.measure_metered(seconds, gauge)
    group.close()
    return energy


def _window_s(seconds: float, call_s: float, plan: SessionPlan) -> float:
    """Room for many calls if the session's budget allows it, and for a few in any case."""
    most = max(seconds, plan.max_time_s or 0.0)
    return max(min(max(seconds, MANY_CALLS * call_s), most), FEW_CALLS * call_s)
