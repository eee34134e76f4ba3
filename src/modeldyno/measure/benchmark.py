"""From the raw samples of a cell's sessions to its numbers and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from modeldyno.core.hosts import HostWeather
from modeldyno.core.results import (
    FEWEST_SESSIONS,
    Estimate,
    Latency,
    MachineSpeed,
    Measurement,
    StopReason,
)
from modeldyno.core.sessions import Memory, Session
from modeldyno.measure import energy, instances, statistics, tails
from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.stopping import FIXED_LEVEL, published_level
from modeldyno.measure.trend import has_level_moved
from modeldyno.measure.verdicts import noise_verdict

WITHIN_SESSIONS = "Too few sessions to see what differs between them: the interval leaves that out."
STEADY_SHARE = 0.75  # of the sessions must have reached their plateau
# The kernel accounts for threads on other CPUs at its ticks, up to 10 ms apart: a tick during a few
# short calls charges them for earlier work.
MIN_WALL_FOR_CORES_NS = 1_000_000
MIN_WALL_FOR_CPU_NS = 100_000_000  # before the CPU time of several threads can be trusted
TICK_ERROR = 1.1  # times the allowed cores: as much as one tick can add in that time


@dataclass(frozen=True)
class MeasuredSession:
    """A measured session and the process it ran in."""

    process: int
    session: Session


def summarise(
    units: Sequence[MeasuredSession],
    batch_size: int,
    stop_reason: StopReason,
    weather: HostWeather,
    cores: int = 1,
) -> Measurement:
    """The numbers of one cell; latency is per call, that is per batch."""
    sessions = [unit.session for unit in units]
    samples = [_wall_samples(session) for session in sessions]
    latency = _estimate_latency(samples, stop_reason)
    contention, source = contention_of(sessions, weather)
    has_trend = has_level_moved(samples)
    steady = sum(session.warmup.steady for session in sessions) >= STEADY_SHARE * len(sessions)
    side_by_side = instances.side_by_side(sessions, batch_size, cores, stop_reason)
    noise, reasons = noise_verdict(
        contention and contention / (side_by_side.expected_contention if side_by_side else 1.0),
        latency.typical.value / latency.floor.value,
        latency.floor.relative,
        has_trend,
        steady,
        latency.typical.relative,
        latency.typical.n if latency.typical.units == "samples" else None,
    )
    if len(sessions) < FEWEST_SESSIONS and noise == "quiet":
        noise, reasons = "noisy", (WITHIN_SESSIONS, *reasons)
    calls = sum(_count_calls(session) for session in sessions)
    joules, energy_note = energy.per_item(sessions, batch_size)
    cold_sessions = _first_session_per_process(units)
    return Measurement(
        latency=latency,
        throughput_per_s=side_by_side.total_per_s.value
        if side_by_side
        else batch_size * calls / _measured_seconds(sessions),
        cpu_s=_cpu_seconds_per_call(sessions),
        load_s=median(session.load_s for session in cold_sessions),
        first_inference_s=median(session.first_call_s for session in cold_sessions),
        memory=_largest_memory(cold_sessions),
        samples=sum(len(session.samples.wall_ns) for session in sessions),
        sessions=len(sessions),
        processes=len(cold_sessions),
        warmup_calls=sum(session.warmup.calls for session in sessions),
        calls_per_sample=max(session.samples.calls_per_sample for session in sessions),
        overhead_share=median(s.calibration.overhead_s for s in sessions) / latency.floor.value,
        preempted_share=_preempted_share(sessions),
        stop_reason=stop_reason,
        contention=contention,
        contention_source=source,
        noise=noise,
        reasons=reasons,
        steady=steady,
        trend=has_trend,
        parity=instances.worst_parity([session.parity for session in sessions]),
        device_s=_device_seconds_per_call(sessions),
        energy_j_per_item=joules,
        energy_note=energy_note,
        side_by_side=side_by_side,
        cores_used=_cap_at_cores(cores, cores_used(sessions)),
        throughput=_estimate_throughput(sessions, batch_size, stop_reason),
        page_faults=_page_faults_per_call(sessions),
        machine_speed=_machine_speed(sessions),
    )


def _machine_speed(sessions: Sequence[Session]) -> MachineSpeed | None:
    """By the canaries; in another Python they take another time."""
    own = [session for session in sessions if session.facts.other_python is None]
    took = [session.canary_s for session in own if session.canary_s is not None]
    return MachineSpeed(median(took)) if took else None


def _page_faults_per_call(sessions: Sequence[Session]) -> float | None:
    """Minor and major page faults per call."""
    counted = [session for session in sessions if session.samples.counts]
    if not counted:
        return None
    faults = sum(
        session.samples.counts["minor_faults"] + session.samples.counts["major_faults"]
        for session in counted
    )
    return faults / sum(_count_calls(session) for session in counted)


def _estimate_throughput(
    sessions: Sequence[Session], batch_size: int, stop_reason: StopReason
) -> Estimate | None:
    """Items per second of each session, and how far sessions agree about it."""
    if len(sessions) < FEWEST_SESSIONS:
        return None
    rates = [batch_size / seconds_per_call(session) for session in sessions]
    return statistics.log_t(rates, published_level(stop_reason), "sessions")


def cores_used(sessions: Sequence[Session]) -> float | None:
    """CPUs that the threads of one instance kept busy, from their CPU time; None if unknown.

    The two clocks are read one after the other, so a session must last for much longer than what
    may come between them.
    """
    counted = [
        _cores_used_in_session(session)
        for session in sessions
        if _is_cpu_time_reliable(session) and session.samples.block_wall_ns >= MIN_WALL_FOR_CORES_NS
    ]
    return median(counted) if counted else None


def _cpu_seconds_per_call(sessions: Sequence[Session]) -> float | None:
    """CPU time of all threads per call."""
    counted = [session for session in sessions if _is_cpu_time_reliable(session)]
    if not counted:
        return None
    spent = sum(session.samples.process_cpu_ns for session in counted)
    return spent / 1e9 / sum(_count_calls(session) for session in counted)


def _is_cpu_time_reliable(session: Session) -> bool:
    """A thread's own CPU time is exact; that of other threads needs several ticks of wall time."""
    instances = len(session.together.calls) if session.together else 1
    is_single_thread = session.facts.threads == 1
    return is_single_thread or session.samples.block_wall_ns >= MIN_WALL_FOR_CPU_NS * instances


def _cap_at_cores(cores: int, used: float | None) -> float | None:
    """The allowed cores, if only the kernel's accounting error makes it more."""
    return float(cores) if used is not None and cores < used <= TICK_ERROR * cores else used


def _cores_used_in_session(session: Session) -> float:
    together, samples = session.together, session.samples
    if together is not None:
        return together.cpu_s_per_call / seconds_per_call(session) / len(together.calls)
    return samples.process_cpu_ns / max(1, samples.block_wall_ns)


def seconds_per_call(session: Session) -> float:
    """Wall time over calls; several instances are counted together."""
    together = session.together
    if together is not None:
        return together.window_s / sum(together.calls)
    return sum(session.samples.wall_ns) / 1e9 / _count_calls(session)


def _device_seconds_per_call(sessions: Sequence[Session]) -> float | None:
    """The median of the sessions' medians."""
    timed = [median(session.device_s) for session in sessions if session.device_s]
    return median(timed) if timed else None


def floor_and_typical(session: Session) -> tuple[float, float]:
    """Seconds per call, as the stop rule needs them. Sorts all samples, so call it only once."""
    samples = _wall_samples(session)
    return statistics.floor(samples), statistics.typical(samples)


def _wall_samples(session: Session) -> FloatArray:
    return statistics.seconds_per_call(session.samples.wall_ns, session.samples.calls_per_sample)


def _measured_seconds(sessions: Sequence[Session]) -> float:
    return sum(sum(session.samples.wall_ns) for session in sessions) / 1e9


def _count_calls(session: Session) -> int:
    return len(session.samples.wall_ns) * session.samples.calls_per_sample


def _estimate_latency(samples: list[FloatArray], stop_reason: StopReason) -> Latency:
    floor = level_over_sessions(samples, statistics.FLOOR, published_level(stop_reason))
    pooled = np.concatenate(samples)
    share, largest = statistics.outliers(pooled, floor.value)
    return Latency(
        floor=floor,
        typical=level_over_sessions(samples, statistics.TYPICAL, published_level(stop_reason)),
        mean_s=float(pooled.mean()),
        stdev_s=float(pooled.std(ddof=1)) if pooled.size > 1 else None,
        min_s=float(pooled.min()),
        p90=tails.quantile_interval(samples, 0.90),
        p95=tails.quantile_interval(samples, 0.95),
        p99=tails.quantile_interval(samples, 0.99),
        outlier_share=share,
        largest_s=largest,
    )


def level_over_sessions(
    samples: Sequence[FloatArray], quantile: float, level: float = FIXED_LEVEL
) -> Estimate:
    """A quantile over sessions, or within them when there are too few to compare."""
    if len(samples) < FEWEST_SESSIONS:
        return tails.within_session(samples, quantile, FIXED_LEVEL)
    quantiles = [float(np.quantile(session, quantile)) for session in samples]
    return statistics.log_t(quantiles, level, "sessions")


def contention_of(
    sessions: Sequence[Session], weather: HostWeather
) -> tuple[float | None, Literal["cpu-time", "pressure"] | None]:
    """Elapsed time over the time the work itself needed: 1 is a quiet machine.

    For a single thread, CPU time shows it. Several threads may spin or wait for each other, and a
    thread may wait for another device; there, and if the number of threads is unknown, we use the
    kernel's figures for CPU pressure and stolen time.
    """
    if all(session.facts.is_on_cpu and session.facts.threads == 1 for session in sessions):
        wall = sum(session.samples.block_wall_ns for session in sessions)
        cpu = sum(session.samples.block_cpu_ns for session in sessions)
        return single_thread_contention(wall, cpu), "cpu-time"
    contention = contention_by_pressure(weather)
    return contention, None if contention is None else "pressure"


def single_thread_contention(wall_ns: int, cpu_ns: int) -> float:
    return max(1.0, wall_ns / cpu_ns) if cpu_ns else 1.0


def contention_by_pressure(weather: HostWeather) -> float | None:
    if weather.pressure is None:
        return None
    lost = min(0.95, weather.pressure + (weather.steal or 0.0))
    return 1 / (1 - lost)


def _first_session_per_process(units: Sequence[MeasuredSession]) -> list[Session]:
    """A model is loaded cold only once per process."""
    first_sessions: dict[int, Session] = {}
    for unit in units:
        first_sessions.setdefault(unit.process, unit.session)
    return list(first_sessions.values())


def _largest_memory(sessions: Sequence[Session]) -> Memory | None:
    readings = [session.memory for session in sessions if session.memory]
    return max(readings, key=lambda m: m.peak_bytes - m.engine_bytes) if readings else None


def _preempted_share(sessions: Sequence[Session]) -> float:
    switches = sum(session.samples.involuntary_switches for session in sessions)
    samples = sum(len(session.samples.wall_ns) for session in sessions)
    return min(1.0, switches / samples)
