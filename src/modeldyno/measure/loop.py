"""The timed loop, inside the worker; standard library only.

Between the two clock reads of a sample there is nothing but the calls. Why samples are short,
why a session warms up to a plateau and why A and B alternate in half-millisecond blocks:
docs/measuring.md.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import repeat

from modeldyno.core.profiles import ProfilePlan
from modeldyno.core.sessions import Calibration, PairPlan, Samples, SessionPlan, WarmUp

Call = Callable[[], object]
Clock = Callable[[], int]

SAMPLE_NS = 50_000  # target: longer samples include preemptions, shorter ones the clock's own cost
MOST_CALLS_PER_SAMPLE = 1_000
LONG_CALL_NS = 1_000_000  # from here on, reading CPU time (0.6 µs) around each call is affordable
VERY_LONG_CALL_NS = 100_000_000
FEW_SAMPLES_CALL_NS = 20_000_000  # from here on, ten calls have to be enough for a session
FEWEST_SAMPLES = 3  # even if a session's time is up
CALIBRATION_LIMIT_NS = 200_000_000
MOST_SAMPLES = 1_000_000  # in one window: more would not fit into one message
SPIN_BEFORE_START_S = 0.002  # stop sleeping this long before a common start
# Sides whose call times differ by less than this factor get equal samples. A virtual CPU has two
# speeds about 1.8 apart: of 9000 calls calibrated twice in a row, 3 % differed by more than 1.5,
# 0.4 % by 1.8, 0.1 % by 2.
SIMILAR_SPEED = 2.0


@dataclass(frozen=True)
class Clocks:
    """All clocks that the loop reads; tests pass their own."""

    wall: Clock = time.perf_counter_ns
    thread_cpu: Clock = time.thread_time_ns
    process_cpu: Clock = time.process_time_ns
    switches: Clock = lambda: _involuntary_switches()
    sleep: Callable[[float], None] = time.sleep
    counts: Callable[[], dict[str, int]] = lambda: _kernel_counts()


_RUSAGE_FIELDS = {"minor_faults": "ru_minflt", "major_faults": "ru_majflt"}


def _kernel_counts() -> dict[str, int]:
    """Page faults of all threads of this process; empty if the system does not count them."""
    try:
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
    except ImportError:
        return {}
    return {name: getattr(usage, field) for name, field in _RUSAGE_FIELDS.items()}


def _involuntary_switches() -> int:
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
    except (ImportError, AttributeError):  # not on this system
        return 0


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Collects garbage once, then not again until the block ends."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# ---------------------------------------------------------------- calibration


def calibrate(call: Call, clock: Clock, calls_per_sample: int | None = None) -> Calibration:
    """Measures how long a call takes, how many calls make a sample and what timing itself costs."""
    fastest, calls = _fastest_call(call, clock)
    k = calls_per_sample or sample_size(fastest)
    return Calibration(fastest / 1e9, k, stopwatch_cost(k, clock) / 1e9, calls)


def sample_size(call_ns: float) -> int:
    """Calls per sample: one, unless a call is shorter than a sample should be."""
    return max(1, min(MOST_CALLS_PER_SAMPLE, math.ceil(SAMPLE_NS / max(call_ns, 1))))


def _fastest_call(call: Call, clock: Clock) -> tuple[int, int]:
    """The minimum of ten calls after five untimed ones (fewer if calls are long), and the number
    of calls made."""
    give_up = clock() + CALIBRATION_LIMIT_NS
    untimed = 0
    while untimed < 5 and clock() < give_up:
        call()
        untimed += 1
    timings: list[int] = []
    while len(timings) < 10 and (not timings or clock() < give_up):
        start = clock()
        call()
        timings.append(clock() - start)
    return min(timings), untimed + len(timings)


def stopwatch_cost(calls_per_sample: int, clock: Clock) -> float:
    """Nanoseconds that two clock reads and the loop add to one call, measured on an empty one."""
    timings = sorted(_take_samples(_empty_call, calls_per_sample, clock, 50))
    return timings[len(timings) // 10] / calls_per_sample


def _empty_call() -> None:
    return None


# ---------------------------------------------------------------- samples


def _take_samples(call: Call, k: int, clock: Clock, count: int) -> list[int]:
    """``count`` samples of ``k`` calls, in nanoseconds."""
    samples: list[int] = []
    append = samples.append
    if k == 1:
        for _ in repeat(None, count):
            start = clock()
            call()
            append(clock() - start)
        return samples
    for _ in repeat(None, count):
        start = clock()
        for _ in repeat(None, k):
            call()
        append(clock() - start)
    return samples


def _take_samples_with_cpu(
    call: Call, k: int, clocks: Clocks, count: int
) -> tuple[list[int], list[int]]:
    """The same for long calls, with the thread's CPU time in addition to wall time."""
    wall: list[int] = []
    cpu: list[int] = []
    for _ in repeat(None, count):
        cpu_start = clocks.thread_cpu()
        start = clocks.wall()
        for _ in repeat(None, k):
            call()
        end = clocks.wall()
        cpu.append(clocks.thread_cpu() - cpu_start)
        wall.append(end - start)
    return wall, cpu


def _take_samples_until(
    call: Call, k: int, clock: Clock, stop_ns: int, most: int
) -> tuple[list[int], list[int]]:
    """Back-to-back samples until ``stop_ns``, and the time at which each of them ended."""
    wall: list[int] = []
    ends: list[int] = []
    end = clock()
    while end < stop_ns and len(wall) < most:
        start = clock()
        for _ in repeat(None, k):
            call()
        end = clock()
        wall.append(end - start)
        ends.append(end)
    return wall, ends


class Block:
    """The samples of one configuration, taken in one or several turns."""

    def __init__(self, call: Call, calibration: Calibration, clocks: Clocks) -> None:
        self._call = call
        self._clocks = clocks
        self._k = calibration.calls_per_sample
        self.sample_ns = max(1.0, calibration.call_s * 1e9 * self._k)
        self._with_cpu = calibration.call_s * 1e9 >= LONG_CALL_NS
        self.wall: list[int] = []
        self.cpu: list[int] = []
        self.ends: list[int] = []
        self._spent_wall = self._spent_cpu = self._spent_process = self._switches = 0
        self._counts: dict[str, int] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self.wall)

    def read(self, count: int) -> None:
        """Take ``count`` more samples; CPU clocks are read before and after, not in between."""
        with self._accounting():
            if self._with_cpu:
                wall, cpu = _take_samples_with_cpu(self._call, self._k, self._clocks, count)
                self.cpu += cpu
            else:
                wall = _take_samples(self._call, self._k, self._clocks.wall, count)
        self._turn = count
        self.wall += wall

    def read_until(self, stop_ns: int, most: int) -> None:
        """Take samples until ``stop_ns``, with the time at which each ended."""
        with self._accounting():
            wall, ends = _take_samples_until(self._call, self._k, self._clocks.wall, stop_ns, most)
        self.wall += wall
        self.ends += ends

    @contextmanager
    def _accounting(self) -> Iterator[None]:
        clocks = self._clocks
        before = clocks.counts()
        switches, process = clocks.switches(), clocks.process_cpu()
        cpu, wall = clocks.thread_cpu(), clocks.wall()
        yield
        self._spent_wall += clocks.wall() - wall
        self._spent_cpu += clocks.thread_cpu() - cpu
        self._spent_process += clocks.process_cpu() - process
        self._switches += clocks.switches() - switches
        for name, count in clocks.counts().items():
            self._counts[name] = self._counts.get(name, 0) + count - before[name]

    def samples(self) -> Samples:
        return Samples(
            wall_ns=tuple(self.wall),
            cpu_ns=tuple(self.cpu),
            calls_per_sample=self._k,
            block_wall_ns=self._spent_wall,
            block_cpu_ns=self._spent_cpu,
            process_cpu_ns=self._spent_process,
            involuntary_switches=self._switches,
            samples_per_turn=self._turn,
            ends_ns=tuple(self.ends),
            counts=self._counts,
        )


# ---------------------------------------------------------------- warm-up


def warm_up(call: Call, calibration: Calibration, plan: SessionPlan, clock: Clock) -> WarmUp:
    """Call until the lower quartile of a window stops falling.

    A rule that waits for a small spread never fires on a loaded machine. A low quantile still
    reaches a plateau there, because noise only adds time.
    """
    start = clock()
    if plan.warmup_calls is not None:
        for _ in repeat(None, plan.warmup_calls):
            call()
        return WarmUp(plan.warmup_calls, (clock() - start) / 1e9, steady=True)
    k = calibration.calls_per_sample
    call_ns = max(1.0, calibration.call_s * 1e9)
    window, least = _warmup_window(call_ns, k), _least_warmup_calls(call_ns)
    best, steady_windows, calls = math.inf, 0, 0
    while steady_windows < 2 or calls < least:
        quartile = _lower_quartile(_take_samples(call, k, clock, window))
        calls += window * k
        steady_windows = 0 if quartile < 0.98 * best else steady_windows + 1
        best = min(best, quartile)
        if clock() - start > plan.warmup_limit_s * 1e9 and calls >= least:
            break
    return WarmUp(calls, (clock() - start) / 1e9, steady=steady_windows >= 2)


def _warmup_window(call_ns: float, k: int) -> int:
    if call_ns > VERY_LONG_CALL_NS:
        return 3
    return max(5, min(20, math.ceil(10_000_000 / (call_ns * k))))


def _least_warmup_calls(call_ns: float) -> int:
    """25 calls come within 1 % of the plateau; long calls need fewer."""
    return max(3, min(25, math.ceil(VERY_LONG_CALL_NS / call_ns)))


def _lower_quartile(samples: list[int]) -> int:
    return sorted(samples)[len(samples) // 4]


# ---------------------------------------------------------------- one session


@dataclass(frozen=True)
class TimedSession:
    calibration: Calibration
    warmup: WarmUp
    samples: Samples


def measure_session(call: Call, plan: SessionPlan, clocks: Clocks | None = None) -> TimedSession:
    """Calibrate, warm up and measure one loaded engine instance."""
    clocks = clocks or Clocks()
    calibration, warmup = _calibrate_and_warm_up(call, plan, None, clocks)
    block = Block(call, calibration, clocks)
    with paused_garbage_collection():
        if plan.iterations is None:
            _measure_until_enough(block, calibration, plan, clocks.wall)
        else:
            block.read(plan.iterations)
            calibration = replace(calibration, call_s=min(block.wall) / 1e9)
    return TimedSession(calibration, warmup, block.samples())


def _calibrate_and_warm_up(
    call: Call, plan: SessionPlan, known: Calibration | None, clocks: Clocks
) -> tuple[Calibration, WarmUp]:
    """If the number of calls is prescribed, the call time is taken from the warm-up: calibrating
    would add calls."""
    if known is None and plan.iterations is not None:
        unknown = Calibration(0.0, 1, stopwatch_cost(1, clocks.wall) / 1e9)
        warmup = warm_up(call, unknown, plan, clocks.wall)
        return replace(unknown, call_s=warmup.seconds / max(1, warmup.calls)), warmup
    calibration = known or calibrate(call, clocks.wall, plan.calls_per_sample)
    return calibration, warm_up(call, calibration, plan, clocks.wall)


def _measure_until_enough(
    block: Block, calibration: Calibration, plan: SessionPlan, clock: Clock
) -> None:
    """Take samples until both time and count are sufficient, or the time is up."""
    few = calibration.call_s * 1e9 >= FEW_SAMPLES_CALL_NS
    least = plan.min_samples_long if few else plan.min_samples
    start = clock()
    while len(block) < plan.max_samples:
        block.read(_samples_per_read(block.sample_ns))
        spent_s = (clock() - start) / 1e9
        if spent_s >= plan.min_time_s and len(block) >= least:
            return
        if plan.max_time_s and spent_s >= plan.max_time_s and len(block) >= FEWEST_SAMPLES:
            return


def _samples_per_read(sample_ns: float) -> int:
    """About 10 ms, after which the stop conditions are checked."""
    return max(1, int(10_000_000 / sample_ns))


# ---------------------------------------------------------------- with and without a profiler

_PROFILED_WARMUP_CALLS = 3  # the engine is warm already, its profiled session is not
_FEWEST_CALLS_PER_TURN = 3  # besides the first
_BARE_CALLS = 400


@dataclass(frozen=True)
class ProfiledTimes:
    plain_ns: list[int]  # of each call without the profiler
    recorded_ns: list[int]  # of each call with it
    counts: list[bool]  # which of the latter count
    block_wall_ns: int  # around all turns without the profiler …
    block_cpu_ns: int  # … and the CPU time of the calling thread meanwhile
    steady: bool  # the latency had settled before the first turn


def measure_profiled(
    plain: Call,
    profiled: Call,
    recording: Callable[[], AbstractContextManager[None]],
    plan: ProfilePlan,
    clocks: Clocks | None = None,
) -> ProfiledTimes:
    """Calls with and without the profiler, in turns.

    Plain ones come first and last, so that changes of the machine affect both equally. The first
    call of a turn meets a cold cache and does not count.
    """
    clocks = clocks or Clocks()
    clock = clocks.wall
    limits = SessionPlan(warmup_limit_s=plan.warmup_limit_s)
    calibration = calibrate(plain, clock, calls_per_sample=1)
    steady = warm_up(plain, calibration, limits, clock).steady
    calls = math.ceil(plan.min_time_s / max(calibration.call_s, 1e-9))
    calls = max(plan.fewest_calls, min(plan.most_calls, calls))
    turn = math.ceil(calls / max(1, min(plan.turns, calls // _FEWEST_CALLS_PER_TURN)))
    block = Block(plain, calibration, clocks)
    plain_ns: list[int] = []
    recorded_ns: list[int] = []
    counts: list[bool] = []
    with paused_garbage_collection():
        for _ in repeat(None, min(_PROFILED_WARMUP_CALLS, calls)):
            profiled()
        while sum(counts) < calls:
            clocks.sleep(plan.gap_s)
            block.read(turn + 1)
            plain_ns += block.wall[-turn:]
            clocks.sleep(plan.gap_s)
            with recording():
                recorded_ns += _take_samples(profiled, 1, clock, turn + 1)
            counts += [False, *repeat(True, turn)]
        clocks.sleep(plan.gap_s)
        block.read(turn + 1)
        plain_ns += block.wall[-turn:]
    spent = block.samples()
    return ProfiledTimes(
        plain_ns, recorded_ns, counts, spent.block_wall_ns, spent.block_cpu_ns, steady
    )


def measure_bare(call: Call, clock: Clock = time.perf_counter_ns) -> int:
    """Nanoseconds of a call that computes nothing."""
    with paused_garbage_collection():
        samples = sorted(_take_samples(call, 1, clock, _BARE_CALLS)[_BARE_CALLS // 4 :])
    return samples[len(samples) // 2]


# ---------------------------------------------------------------- speed of the machine

CANARY_SAMPLES = 30


def canary(clock: Clock = time.perf_counter_ns) -> float:
    """Floor of a fixed kernel of about 100 µs, in seconds: how fast the machine is right now."""
    timings = sorted(_take_samples(_canary_kernel, 1, clock, CANARY_SAMPLES))
    return timings[CANARY_SAMPLES // 10] / 1e9


def _canary_kernel() -> int:
    total = 0
    for number in range(2_000):
        total += number
    return total


# ---------------------------------------------------------------- two sessions in alternation


@dataclass(frozen=True)
class TimedSide:
    """One side of a pair: its call, and what to do before its turn (set the affinity)."""

    call: Call
    enter: Callable[[], None]


def measure_pair(
    a: TimedSide, b: TimedSide, plan: PairPlan, clocks: Clocks | None = None
) -> tuple[TimedSession, TimedSession]:
    """Measure A and B in randomly ordered ABBA / BAAB micro-blocks, so that drift hits both."""
    clocks = clocks or Clocks()
    calibrations = plan.calibrations or _calibrate_pair(a, b, clocks.wall)
    limits = SessionPlan(warmup_limit_s=plan.warmup_limit_s)
    ready = []
    for side, calibration in zip((a, b), calibrations, strict=True):
        side.enter()
        ready.append(_calibrate_and_warm_up(side.call, limits, calibration, clocks))
    blocks = [Block(side.call, ready[i][0], clocks) for i, side in enumerate((a, b))]
    # Both sides take the same number of samples per turn: the first ones after a switch are slower,
    # and the side with shorter turns would have more of them.
    mean_sample_ns = math.sqrt(blocks[0].sample_ns * blocks[1].sample_ns)
    count = max(1, round(plan.block_s * 1e9 / mean_sample_ns))
    is_long = max(calibration.call_s for calibration, _ in ready) * 1e9 >= LONG_CALL_NS
    least = plan.min_samples_long if is_long else plan.min_samples
    orders = random.Random(plan.seed)  # noqa: S311 - an order of measurement, not a secret
    with paused_garbage_collection():
        start = clocks.wall()
        while True:
            for index in orders.choice(((0, 1, 1, 0), (1, 0, 0, 1))):
                side = (a, b)[index]
                side.enter()
                if plan.gap_s:
                    clocks.sleep(plan.gap_s)
                side.call()  # the first call after a switch meets a cold cache
                blocks[index].read(count)
            spent_s = (clocks.wall() - start) / 1e9
            if spent_s >= plan.min_time_s and min(map(len, blocks)) >= least:
                break
            if plan.max_time_s and spent_s >= plan.max_time_s:
                break
    first, second = (
        TimedSession(calibration, warmup, block.samples())
        for (calibration, warmup), block in zip(ready, blocks, strict=True)
    )
    return first, second


class SideTimer:
    """Times a call beside other processes: in turns with them, or all at once."""

    def __init__(
        self,
        side: TimedSide,
        known: Calibration | None,
        plan: SessionPlan,
        clocks: Clocks | None = None,
    ) -> None:
        self._clocks = clocks or Clocks()
        self._side = side
        side.enter()
        self.calibration, self._warmup = _calibrate_and_warm_up(
            side.call, plan, known, self._clocks
        )
        self.block = self._new_block()

    def take_turn(self, block_s: float) -> None:
        """Take samples for about ``block_s``; the first call after a switch is not counted."""
        self._side.enter()
        self._side.call()
        self.block.read(max(1, round(block_s * 1e9 / self.block.sample_ns)))

    def measure_window(self, start_ns: int, stop_ns: int, iterations: int | None = None) -> Samples:
        """Samples from ``start_ns`` to ``stop_ns``, or ``iterations`` of them from there on."""
        self._side.enter()
        if iterations is None:
            self._side.call()  # after idling, the cache is cold
        block = self._new_block()
        self._wait_until(start_ns)
        block.read_until(stop_ns, iterations or MOST_SAMPLES)
        return block.samples()

    def timed_session(self) -> TimedSession:
        return TimedSession(self.calibration, self._warmup, self.block.samples())

    def _new_block(self) -> Block:
        return Block(self._side.call, self.calibration, self._clocks)

    def _wait_until(self, moment_ns: int) -> None:
        """Sleep until just before, then spin: a sleep may end late."""
        remaining_s = (moment_ns - self._clocks.wall()) / 1e9
        if remaining_s > SPIN_BEFORE_START_S:
            self._clocks.sleep(remaining_s - SPIN_BEFORE_START_S)
        while self._clocks.wall() < moment_ns:
            pass


def _calibrate_pair(a: TimedSide, b: TimedSide, clock: Clock) -> tuple[Calibration, Calibration]:
    """Sides of similar speed get the same number of calls per sample: a low quantile over means of
    five calls differs slightly from one over means of six."""
    calibrations = []
    for side in (a, b):
        side.enter()
        calibrations.append(calibrate(side.call, clock))
    first, second = calibrations
    fast, slow = sorted((first.call_s, second.call_s))
    if slow > SIMILAR_SPEED * fast:
        return first, second
    k = sample_size(math.sqrt(fast * slow) * 1e9)
    return replace(first, calls_per_sample=k), replace(second, calls_per_sample=k)
