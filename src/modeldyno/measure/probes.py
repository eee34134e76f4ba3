"""Short experiments on the machine: the clock itself, sleeping, pinning, noise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise, repeat
from pathlib import Path

from modeldyno.core.doctor import ClockReading, NoiseReading
from modeldyno.core.sessions import SessionPlan
from modeldyno.measure import loop

Clock = Callable[[], int]

READS = 20_000
NAP_S = 0.001
NAPS = 30
NOISE_S = 1.0
ROUNDS = 10_000  # of an empty loop: about 50 µs, the target length of a sample


def read_clock(
    clock: Clock = time.perf_counter_ns, sleep: Callable[[float], None] = time.sleep
) -> ClockReading:
    times = [clock() for _ in repeat(None, READS)]
    steps = [after - before for before, after in pairwise(times)]
    return ClockReading(
        resolution_s=min((step for step in steps if step > 0), default=0) / 1e9,
        # Preemptions only add time, so the fastest stretch shows what a reading costs.
        cost_s=min(times[i + 100] - times[i] for i in range(0, READS - 100, 100)) / 100 / 1e9,
        went_back=any(step < 0 for step in steps),
        oversleep_s=_oversleep_s(clock, sleep),
    )


def _oversleep_s(clock: Clock, sleep: Callable[[float], None]) -> float:
    late = []
    for _ in range(NAPS):
        start = clock()
        sleep(NAP_S)
        late.append((clock() - start) / 1e9 - NAP_S)
    return sorted(late)[NAPS // 2]


def pinning_works(cpus: tuple[int, ...]) -> bool | None:
    """Whether a thread runs on the CPU it is pinned to; None if the system cannot pin."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    before = os.sched_getaffinity(0)
    try:
        return all(_runs_on(cpu) for cpu in {cpus[0], cpus[-1]})
    except OSError:
        return False
    finally:
        os.sched_setaffinity(0, before)


def _runs_on(cpu: int) -> bool:
    os.sched_setaffinity(0, {cpu})
    fields = Path("/proc/thread-self/stat").read_text().rpartition(")")[2].split()
    return int(fields[36]) == cpu and os.sched_getaffinity(0) == {cpu}


def probe_noise(seconds: float = NOISE_S, clocks: loop.Clocks | None = None) -> NoiseReading:
    """Measure a fixed piece of work with the loop that measures models."""

    def spin() -> None:
        for _ in repeat(None, ROUNDS):
            pass

    plan = SessionPlan(min_time_s=seconds, warmup_limit_s=0.2 * seconds)
    samples = loop.measure_session(spin, plan, clocks).samples
    ordered = sorted(samples.wall_ns)
    per_call_s = 1e-9 / samples.calls_per_sample
    cpu = samples.block_cpu_ns
    return NoiseReading(
        floor_s=ordered[len(ordered) // 10] * per_call_s,
        typical_s=ordered[len(ordered) // 2] * per_call_s,
        contention=max(1.0, samples.block_wall_ns / cpu) if cpu else 1.0,
        samples=len(ordered),
    )
