"""What several instances get done side by side.

Each says when its samples ended, on the clock they share. Only the window in which all of them
worked counts: the sum of each one's own rate would also count the time in which one of them had
the machine for itself (docs/measuring.md, instances side by side).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from modeldyno.core.errors import RunFailed
from modeldyno.core.results import Estimate, SideBySide, StopReason
from modeldyno.core.sessions import Memory, Parity, Samples, Session, Together, WarmUp
from modeldyno.measure.statistics import log_t
from modeldyno.measure.stopping import published_level

EDGE = 0.05  # of the common window, left out at either end

Window = tuple[float, float]  # nanoseconds of the shared clock


def common_window(samples: Sequence[Samples]) -> Window:
    """From the latest first completion to the earliest last one, less a bit at either end."""
    first = max(one.ends_ns[0] for one in samples)
    last = min(one.ends_ns[-1] for one in samples)
    edge = EDGE * (last - first)
    return first + edge, last - edge


def calls_within(samples: Samples, window: Window) -> float:
    """Calls done in a window; a sample that reaches over its edge counts in part."""
    start, end = window
    ends = np.asarray(samples.ends_ns, dtype=np.float64)
    wall = np.asarray(samples.wall_ns, dtype=np.float64)
    inside = np.minimum(ends, end) - np.maximum(ends - wall, start)
    shares = np.clip(inside, 0.0, None) / np.maximum(wall, 1.0)
    return float(shares.sum()) * samples.calls_per_sample


def join_instances(
    sessions: Sequence[Session],
    windows: Sequence[Samples],
    solo: Samples | None,
    cpus: int,
) -> Session:
    """One session made of all instances; ``windows`` are their samples, by instance."""
    if any(len(one.ends_ns) < 2 for one in windows):
        raise RunFailed(
            "An instance did not finish two calls in its window",
            why="too little was seen of it to know a rate",
            fix="Use fewer instances or a smaller batch; with --iterations, more of them",
        )
    window = common_window(windows)
    if window[1] <= window[0]:
        raise RunFailed(
            "The instances did not run at the same time",
            why="one had ended before another began",
            fix="Give them more calls with --iterations, or leave --iterations out",
        )
    calls = tuple(calls_within(one, window) for one in windows)
    made = sum(len(one.wall_ns) * one.calls_per_sample for one in windows)
    cpu_s = sum(one.process_cpu_ns for one in windows) / 1e9 / made
    return replace(
        sessions[0],
        warmup=_warmup(sessions),
        samples=_pooled(windows, window, cpu_s),
        memory=_memory(sessions),
        parity=_worst([session.parity for session in sessions]),
        together=Together(
            window_s=(window[1] - window[0]) / 1e9,
            calls=calls,
            solo_calls_per_s=_rate(solo) if solo and len(solo.ends_ns) > 1 else 0.0,
            cpu_s_per_call=cpu_s,
            cpus=cpus,
        ),
    )


def _rate(samples: Samples) -> float:
    window = common_window([samples])
    seconds = (window[1] - window[0]) / 1e9
    return calls_within(samples, window) / seconds if seconds > 0 else 0.0


def _pooled(windows: Sequence[Samples], window: Window, cpu_s: float) -> Samples:
    """The samples that ended in the window; CPU time in proportion."""
    ended = sorted(  # in the order of time: a trend is looked for in it
        (end, took) for one in windows for took, end in zip(one.wall_ns, one.ends_ns, strict=True)
    )
    inside = [took for end, took in ended if window[0] <= end <= window[1]]
    wall = tuple(inside or [took for _, took in ended])
    k = windows[0].calls_per_sample
    return Samples(
        wall_ns=wall,
        cpu_ns=(),
        calls_per_sample=k,
        block_wall_ns=sum(one.block_wall_ns for one in windows),
        block_cpu_ns=sum(one.block_cpu_ns for one in windows),
        process_cpu_ns=round(1e9 * cpu_s * k * len(wall)),
        involuntary_switches=sum(one.involuntary_switches for one in windows),
        counts=_counts(windows, len(wall)),
    )


def _counts(windows: Sequence[Samples], pooled: int) -> dict[str, int]:
    """In proportion, as CPU time is."""
    share = pooled / sum(len(one.wall_ns) for one in windows)
    names = {name for one in windows for name in one.counts}
    return {name: round(share * sum(one.counts.get(name, 0) for one in windows)) for name in names}


def _warmup(sessions: Sequence[Session]) -> WarmUp:
    return WarmUp(
        calls=sum(session.warmup.calls for session in sessions),
        seconds=max(session.warmup.seconds for session in sessions),
        steady=all(session.warmup.steady for session in sessions),
    )


def _memory(sessions: Sequence[Session]) -> Memory | None:
    found = [session.memory for session in sessions if session.memory]
    if len(found) < len(sessions):
        return None
    return Memory(
        engine_bytes=sum(memory.engine_bytes for memory in found),
        loaded_bytes=sum(memory.loaded_bytes for memory in found),
        peak_bytes=sum(memory.peak_bytes for memory in found),
        device_peak_bytes=sum(memory.device_peak_bytes or 0 for memory in found) or None,
    )


def _worst(parities: Sequence[Parity | None]) -> Parity | None:
    found = [parity for parity in parities if parity]
    return max(found, key=lambda parity: parity.max_rel_error) if found else None


# ---------------------------------------------------------------- over all repetitions


def side_by_side(
    sessions: Sequence[Session], batch_size: int, cores: int, reason: StopReason
) -> SideBySide | None:
    """The figures of several instances, over repetitions; None of a single one."""
    found = [session.together for session in sessions if session.together]
    if not found:
        return None
    totals = [batch_size * sum(one.calls) / one.window_s for one in found]
    solos = [one.solo_calls_per_s * batch_size for one in found]
    instances = len(found[0].calls)
    wanted = instances * cores
    scaling = None
    if all(solos):
        scaling = _estimate([t / s for t, s in zip(totals, solos, strict=True)], reason)
    return SideBySide(
        total_per_s=_estimate(totals, reason),
        scaling=scaling,
        fairness=median(min(one.calls) / max(one.calls) for one in found),
        items_per_cpu_s=batch_size / median(one.cpu_s_per_call for one in found),
        expected_contention=max(1.0, wanted / found[0].cpus),
        oversubscribed=wanted > found[0].cpus,
    )


def _estimate(values: Sequence[float], reason: StopReason) -> Estimate:
    level = published_level(reason)
    if len(values) < 2:
        return Estimate(values[0], values[0], values[0], level, 1, "sessions")  # no interval
    return log_t(values, level, "sessions")
