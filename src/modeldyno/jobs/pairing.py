"""Measure pairs of sessions, in one worker if both sides can share it, else in two."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from modeldyno.core.sessions import Pair, PairPlan, SandboxReport, Session, SessionPlan
from modeldyno.measure.loop import time_left_s
from modeldyno.worker.launch import Stop, Worker, WorkerSetup, launched
from modeldyno.worker.messages import (
    CloseSide,
    MeasureBlock,
    MeasurePair,
    OpenSide,
    PairMeasured,
    SessionMeasured,
    SessionSpec,
    SideReady,
)

# Workers that take turns need longer blocks than the half millisecond of one process, since a turn
# costs a message and a cold cache; but on a busy machine, short turns and long pairs cancel its
# drift best (docs/decisions/0007-sandbox.md). Processes differ as well, so there are more of them.
BLOCK_S = 0.01
PAIR_S = 1.0
FEWEST_PROCESSES = 8

Reports = tuple[SandboxReport | None, SandboxReport | None]


@dataclass(frozen=True)
class PairedSide:
    """A side's session, the worker it needs, and the outputs that it is compared with."""

    session: SessionSpec
    setup: WorkerSetup
    reference: str


class Pairing(Protocol):
    def measure(self, plan: PairPlan, padding_seed: int, deadline_s: float) -> Pair: ...

    @property
    def sandboxes(self) -> Reports: ...


@contextmanager
def launched_pairing(
    a: PairedSide, b: PairedSide, stop: Stop, apart: bool = False
) -> Iterator[Pairing]:
    """Fresh workers for any number of pairs: one if both sides need the same setup and do not have
    to be ``apart``."""
    with ExitStack() as stack:
        worker = stack.enter_context(launched(a.setup))
        if a.setup == b.setup and not apart:
            yield _OneWorker(worker, a, b, stop)
        else:
            other = stack.enter_context(launched(b.setup))
            yield _TwoWorkers((worker, other), (a, b), stop)


class _OneWorker:
    def __init__(self, worker: Worker, a: PairedSide, b: PairedSide, stop: Stop) -> None:
        self._worker = worker
        self._a, self._b = a.session, b.session
        self._stop = stop

    @property
    def sandboxes(self) -> Reports:
        return self._worker.sandbox, self._worker.sandbox

    def measure(self, plan: PairPlan, padding_seed: int, deadline_s: float) -> Pair:
        command = MeasurePair(self._a, self._b, plan, padding_seed)
        return self._worker.request(command, PairMeasured, deadline_s, self._stop).pair


class _TwoWorkers:
    """Two workers on the same CPUs: one measures while the other waits for a command."""

    def __init__(
        self, workers: tuple[Worker, Worker], sides: tuple[PairedSide, PairedSide], stop: Stop
    ) -> None:
        self._workers = workers
        self._sides = sides
        self._stop = stop

    @property
    def sandboxes(self) -> Reports:
        return self._workers[0].sandbox, self._workers[1].sandbox

    def measure(self, plan: PairPlan, padding_seed: int, deadline_s: float) -> Pair:
        orders = random.Random(plan.seed)  # noqa: S311 - an order of measurement, not a secret
        start = time.monotonic()
        for side in orders.choice(((0, 1), (1, 0))):
            self._open_side(side, plan, padding_seed, deadline_s)
        most_s = plan.max_time_s
        if plan.time_s is not None:
            left_s = time_left_s(plan.time_s, time.monotonic() - start)
            most_s = left_s if most_s is None else min(most_s, left_s)
        self._take_turns(replace(plan, max_time_s=most_s), orders, deadline_s)
        a, b = (self._close_side(side, deadline_s) for side in (0, 1))
        return Pair(a, b, b.parity)

    def _open_side(self, side: int, plan: PairPlan, padding_seed: int, deadline_s: float) -> None:
        known = plan.calibrations[side] if plan.calibrations else None
        # Each side has its own padding, so that the pair does not share one placement's luck.
        limits = SessionPlan(warmup_limit_s=plan.warmup_limit_s, warmup_calls=plan.warmup_calls)
        command = OpenSide(self._sides[side].session, limits, padding_seed + side, known)
        self._workers[side].request(command, SideReady, deadline_s, self._stop)

    def _take_turns(self, plan: PairPlan, orders: random.Random, deadline_s: float) -> None:
        block = MeasureBlock(max(BLOCK_S, plan.block_s))
        start = time.monotonic()
        samples = [0, 0]
        while True:
            for side in orders.choice(((0, 1, 1, 0), (1, 0, 0, 1))):
                time.sleep(plan.gap_s)
                ready = self._workers[side].request(block, SideReady, deadline_s, self._stop)
                samples[side] = ready.samples
            spent_s = time.monotonic() - start
            if spent_s >= max(PAIR_S, plan.min_time_s) and min(samples) >= plan.min_samples_long:
                return
            if plan.max_time_s and spent_s >= plan.max_time_s:
                return

    def _close_side(self, side: int, deadline_s: float) -> Session:
        command = CloseSide(self._sides[side].reference)
        reply = self._workers[side].request(command, SessionMeasured, deadline_s, self._stop)
        return reply.session
