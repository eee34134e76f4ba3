"""The throughput of several instances side by side.

Each instance reports when its samples ended, on a shared clock. Only the window in which all of
them worked counts: the sum of their own rates would include time in which one instance had the
machine to itself (docs/measuring.md, instances side by side).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from modeldyno.core.errors import RunFailed
from modeldyno.core.results import Estimate, SideBySide, StopReason
from modeldyno.core.sessions import (
    Memory,
    Parity,
    Samples,
    Session,
    Together,
    WarmUp,
    worst_outputs,
)
from modeldyno.measure.statistics import log_t
from modeldyno.measure.stopping import published_level

EDGE = 0.05  # of the common window, left out at either end

Window = tuple[float, float]  # nanoseconds of the shared clock


def common_window(samples: Sequence[Samples]) -> Window:
    """From the latest first completion to the earliest last one, less an edge at both ends."""
    first = max(instance.ends_ns[0] for instance in samples)
    last = min(instance.ends_ns[-1] for instance in samples)
    edge = EDGE * (last - first)
    return first + edge, last - edge


def calls_within(samples: Samples, window: Window) -> float:
    """Calls made in a window; a sample that crosses its edge counts in part."""
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
    """Merges all instances into one session; ``windows`` holds each instance's samples."""
    if any(len(samples.ends_ns) < 2 for samples in windows):
        raise RunFailed(
            "An instance did not finish two calls in its window",
            why="a rate needs at least two completed calls",
            fix="Use fewer instances or a smaller batch; with --iterations, more of them",
        )
    window = common_window(windows)
    if window[1] <= window[0]:
        raise RunFailed(
            "The instances did not run at the same time",
            why="one ended before another began",
            fix="Give them more calls with --iterations, or leave --iterations out",
        )
    calls = tuple(calls_within(samples, window) for samples in windows)
    all_calls = sum(len(samples.wall_ns) * samples.calls_per_sample for samples in windows)
    cpu_s = sum(samples.process_cpu_ns for samples in windows) / 1e9 / all_calls
    return replace(
        sessions[0],
        warmup=_combine_warmups(sessions),
        samples=_pool_samples(windows, window, cpu_s),
        memory=_sum_memory(sessions),
        parity=worst_parity([session.parity for session in sessions]),
        unusual_outputs=tuple(
            output for output, _ in worst_outputs([session.unusual_outputs for session in sessions])
        ),
        together=Together(
            window_s=(window[1] - window[0]) / 1e9,
            calls=calls,
            solo_calls_per_s=_calls_per_s(solo) if solo and len(solo.ends_ns) > 1 else 0.0,
            cpu_s_per_call=cpu_s,
            cpus=cpus,
        ),
    )


def _calls_per_s(samples: Samples) -> float:
    window = common_window([samples])
    seconds = (window[1] - window[0]) / 1e9
    return calls_within(samples, window) / seconds if seconds > 0 else 0.0


def _pool_samples(windows: Sequence[Samples], window: Window, cpu_s: float) -> Samples:
    """The samples that ended in the window; CPU time in proportion."""
    by_end = sorted(  # chronological, since it is checked for a trend
        (end, wall)
        for samples in windows
        for wall, end in zip(samples.wall_ns, samples.ends_ns, strict=True)
    )
    inside = [wall for end, wall in by_end if window[0] <= end <= window[1]]
    wall_ns = tuple(inside or [wall for _, wall in by_end])
    k = windows[0].calls_per_sample
    return Samples(
        wall_ns=wall_ns,
        cpu_ns=(),
        calls_per_sample=k,
        block_wall_ns=sum(samples.block_wall_ns for samples in windows),
        block_cpu_ns=sum(samples.block_cpu_ns for samples in windows),
        process_cpu_ns=round(1e9 * cpu_s * k * len(wall_ns)),
        involuntary_switches=sum(samples.involuntary_switches for samples in windows),
        counts=_pool_counts(windows, len(wall_ns)),
    )


def _pool_counts(windows: Sequence[Samples], pooled: int) -> dict[str, int]:
    """The kernel's counts in proportion to the pooled samples, like CPU time."""
    share = pooled / sum(len(samples.wall_ns) for samples in windows)
    names = {name for samples in windows for name in samples.counts}
    return {name: round(share * sum(w.counts.get(name, 0) for w in windows)) for name in names}


def _combine_warmups(sessions: Sequence[Session]) -> WarmUp:
    return WarmUp(
        calls=sum(session.warmup.calls for session in sessions),
        seconds=max(session.warmup.seconds for session in sessions),
        steady=all(session.warmup.steady for session in sessions),
    )


def _sum_memory(sessions: Sequence[Session]) -> Memory | None:
    readings = [session.memory for session in sessions if session.memory]
    if len(readings) < len(sessions):
        return None
    return Memory(
        engine_bytes=sum(memory.engine_bytes for memory in readings),
        loaded_bytes=sum(memory.loaded_bytes for memory in readings),
        peak_bytes=sum(memory.peak_bytes for memory in readings),
        device_peak_bytes=sum(memory.device_peak_bytes or 0 for memory in readings) or None,
    )


def worst_parity(parities: Sequence[Parity | None]) -> Parity | None:
    known = [parity for parity in parities if parity]
    return max(known, key=lambda parity: parity.max_rel_error) if known else None


# ---------------------------------------------------------------- over all repetitions


def side_by_side(
    sessions: Sequence[Session], batch_size: int, cores: int, reason: StopReason
) -> SideBySide | None:
    """The figures of several instances, over repetitions; None for a single instance."""
    repetitions = [session.together for session in sessions if session.together]
    if not repetitions:
        return None
    totals = [batch_size * sum(together.calls) / together.window_s for together in repetitions]
    solos = [together.solo_calls_per_s * batch_size for together in repetitions]
    requested_cpus = len(repetitions[0].calls) * cores
    scaling = None
    if all(solos):
        scaling = _estimate_mean([t / s for t, s in zip(totals, solos, strict=True)], reason)
    return SideBySide(
        total_per_s=_estimate_mean(totals, reason),
        scaling=scaling,
        fairness=median(min(together.calls) / max(together.calls) for together in repetitions),
        items_per_cpu_s=batch_size / median(together.cpu_s_per_call for together in repetitions),
        expected_contention=max(1.0, requested_cpus / repetitions[0].cpus),
        oversubscribed=requested_cpus > repetitions[0].cpus,
    )


def _estimate_mean(values: Sequence[float], reason: StopReason) -> Estimate:
    level = published_level(reason)
    if len(values) < 2:
        return Estimate(values[0], values[0], values[0], level, 1, "sessions")  # no interval
    return log_t(values, level, "sessions")
