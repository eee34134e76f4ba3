"""Time that only moves on command: the real loop, a scripted engine, the same result every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from modeldyno.measure.loop import Clocks

CLOCK_READ_NS = 60  # as seen between two reads of the real one

Latency = Callable[[int, float], float]  # of call number and time in s, to seconds


@dataclass
class VirtualTime:
    """A clock that advances by what happens, each look at it included."""

    now_ns: int = 0

    def read(self) -> int:
        self.now_ns += CLOCK_READ_NS
        return self.now_ns

    def advance(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    def clocks(self) -> Clocks:
        return Clocks(
            wall=self.read,
            thread_cpu=self.read,
            process_cpu=self.read,
            switches=lambda: 0,
            sleep=self.advance,
        )


@dataclass
class ScriptedCall:
    """One engine instance whose calls take what the script says, and a little noise on top."""

    time: VirtualTime
    latency: Latency
    rng: np.random.Generator | None = None
    calls: int = 0
    _noise: list[float] = field(default_factory=list)

    def __call__(self) -> None:
        seconds = self.latency(self.calls, self.time.now_ns / 1e9)
        self.calls += 1
        self.time.advance(seconds * self._draw_disturbance())

    def _draw_disturbance(self) -> float:
        """One-sided, as on a real machine: usually about 1 %, now and then half again as much."""
        if self.rng is None:
            return 1.0
        if not self._noise:
            usual = 1 + 0.01 * self.rng.random(10_000)
            self._noise = np.where(self.rng.random(10_000) < 0.02, 1.5, usual).tolist()
        return self._noise.pop()
