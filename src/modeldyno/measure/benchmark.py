"""From the raw samples of a cell's sessions to its numbers and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from modeldyno.core.hosts import HostWeather
from modeldyno.core.results import FEWEST_SESSIONS, Estimate, Latency, Measurement, StopReason
from modeldyno.core.sessions import Memory, Parity, Session
from modeldyno.measure import energy, instances, statistics, tails
from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.stopping import FIXED_LEVEL, published_level
from modeldyno.measure.trend import trend
from modeldyno.measure.verdicts import noise_verdict

WITHIN_SESSIONS = "Too few sessions to see what differs between them: the interval leaves that out."
MOSTLY = 0.75  # of the sessions must have reached their plateau
# The kernel books the time of threads that run elsewhere at its ticks, up to 10 ms apart: a tick
# within a few short calls bills them for what was done before.
LEAST_CPU_NS = 100_000_000  # of wall time, for the CPU time of several threads
COUNTING_ERROR = 1.1  # times the cores allowed, by a tick in so much time


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
    samples = [_wall(session) for session in sessions]
    latency = _latency(samples, stop_reason)
    contention, source = contention_of(sessions, weather)
    moved = trend(samples)
    steady = sum(session.warmup.steady for session in sessions) >= MOSTLY * len(sessions)
    beside = instances.side_by_side(sessions, batch_size, cores, stop_reason)
    noise, reasons = noise_verdict(
        contention and contention / (beside.expected_contention if beside else 1.0),
        latency.typical.value / latency.floor.value,
        latency.floor.relative,
        moved,
        steady,
        latency.typical.relative,
        latency.typical.n if latency.typical.units == "samples" else None,
    )
    if len(sessions) < FEWEST_SESSIONS and noise == "quiet":
        noise, reasons = "noisy", (WITHIN_SESSIONS, *reasons)
    calls = sum(_calls(session) for session in sessions)
    joules, energy_note = energy.per_item(sessions, batch_size)
    firsts = _first_of_each_process(units)
    return Measurement(
        latency=latency,
        throughput_per_s=beside.total_per_s.value
        if beside
        else batch_size * calls / _measured_s(sessions),
        cpu_s=_cpu_s(sessions),
        load_s=median(session.load_s for session in firsts),
        first_inference_s=median(session.first_call_s for session in firsts),
        memory=_memory(firsts),
        samples=sum(len(session.samples.wall_ns) for session in sessions),
        sessions=len(sessions),
        processes=len(firsts),
        warmup_calls=sum(session.warmup.calls for session in sessions),
        calls_per_sample=max(session.samples.calls_per_sample for session in sessions),
        overhead_share=median(s.calibration.overhead_s for s in sessions) / latency.floor.value,
        preempted_share=_preempted(sessions),
        stop_reason=stop_reason,
        contention=contention,
        contention_source=source,
        noise=noise,
        reasons=reasons,
        steady=steady,
        trend=moved,
        parity=_worst_parity(sessions),
        device_s=_device_s(sessions),
        energy_j_per_item=joules,
        energy_note=energy_note,
        side_by_side=beside,
        cores_used=_at_most(cores, cores_used(sessions)),
        throughput=_throughput(sessions, batch_size, stop_reason),
        page_faults=_page_faults(sessions),
    )


def _page_faults(sessions: Sequence[Session]) -> float | None:
    """Minor and major ones, per call."""
    counted = [session for session in sessions if session.samples.counts]
    if not counted:
        return None
    faults = sum(
        session.samples.counts["minor_faults"] + session.samples.counts["major_faults"]
        for session in counted
    )
    return faults / sum(_calls(session) for session in counted)


def _throughput(
    sessions: Sequence[Session], batch_size: int, stop_reason: StopReason
) -> Estimate | None:
    """Items per second of each session, and how far sessions agree about it."""
    if len(sessions) < FEWEST_SESSIONS:
        return None
    each = [batch_size / seconds_per_call(session) for session in sessions]
    return statistics.log_t(each, published_level(stop_reason), "sessions")


def cores_used(sessions: Sequence[Session]) -> float | None:
    """CPUs that all threads of one instance kept busy, from their CPU time; None where that cannot
    be known."""
    counted = [_cores_used(session) for session in sessions if _is_cpu_known(session)]
    return median(counted) if counted else None


def _cpu_s(sessions: Sequence[Session]) -> float | None:
    """Of all threads, per call."""
    counted = [session for session in sessions if _is_cpu_known(session)]
    if not counted:
        return None
    spent = sum(session.samples.process_cpu_ns for session in counted)
    return spent / 1e9 / sum(_calls(session) for session in counted)


def _is_cpu_known(session: Session) -> bool:
    """A thread's own time is exact; that of others takes as long as some ticks."""
    instances = len(session.together.calls) if session.together else 1
    is_alone = session.facts.threads == 1
    return is_alone or session.samples.block_wall_ns >= LEAST_CPU_NS * instances


def _at_most(cores: int, used: float | None) -> float | None:
    """Those allowed, where only the counting makes it more."""
    return float(cores) if used is not None and cores < used <= COUNTING_ERROR * cores else used


def _cores_used(session: Session) -> float:
    together, samples = session.together, session.samples
    if together is not None:
        return together.cpu_s_per_call / seconds_per_call(session) / len(together.calls)
    return samples.process_cpu_ns / max(1, samples.block_wall_ns)


def seconds_per_call(session: Session) -> float:
    """From the wall time of everything done; of several instances, of all of them together."""
    together = session.together
    if together is not None:
        return together.window_s / sum(together.calls)
    return sum(session.samples.wall_ns) / 1e9 / _calls(session)


def _device_s(sessions: Sequence[Session]) -> float | None:
    """The median of the sessions' medians."""
    timed = [median(session.device_s) for session in sessions if session.device_s]
    return median(timed) if timed else None


def floor_and_typical(session: Session) -> tuple[float, float]:
    """Seconds per call: what the stop rule looks at. Sorts every sample, so ask once."""
    samples = _wall(session)
    return statistics.floor(samples), statistics.typical(samples)


def _wall(session: Session) -> FloatArray:
    return statistics.seconds_per_call(session.samples.wall_ns, session.samples.calls_per_sample)


def _measured_s(sessions: Sequence[Session]) -> float:
    return sum(sum(session.samples.wall_ns) for session in sessions) / 1e9


def _calls(session: Session) -> int:
    return len(session.samples.wall_ns) * session.samples.calls_per_sample


def _latency(samples: list[FloatArray], stop_reason: StopReason) -> Latency:
    floor = level_over_sessions(samples, statistics.FLOOR, published_level(stop_reason))
    everything = np.concatenate(samples)
    share, largest = statistics.outliers(everything, floor.value)
    return Latency(
        floor=floor,
        typical=level_over_sessions(samples, statistics.TYPICAL, published_level(stop_reason)),
        mean_s=float(everything.mean()),
        stdev_s=float(everything.std(ddof=1)) if everything.size > 1 else None,
        min_s=float(everything.min()),
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
    each = [float(np.quantile(session, quantile)) for session in samples]
    return statistics.log_t(each, level, "sessions")


def contention_of(
    sessions: Sequence[Session], weather: HostWeather
) -> tuple[float | None, Literal["cpu-time", "pressure"] | None]:
    """How many times longer than its work everything took: 1 is a quiet machine.

    One thread tells by its CPU time. Several may spin or wait for each other, and one may wait for
    another device, so the kernel's word on waiting and on stolen time stands in; so it does where
    nobody knows how many there are.
    """
    if all(session.facts.is_on_cpu and session.facts.threads == 1 for session in sessions):
        return _of_one_thread(sessions), "cpu-time"
    if weather.pressure is None:
        return None, None
    lost = min(0.95, weather.pressure + (weather.steal or 0.0))
    return 1 / (1 - lost), "pressure"


def _of_one_thread(sessions: Sequence[Session]) -> float:
    wall = sum(session.samples.block_wall_ns for session in sessions)
    cpu = sum(session.samples.block_cpu_ns for session in sessions)
    return max(1.0, wall / cpu) if cpu else 1.0


def _first_of_each_process(units: Sequence[MeasuredSession]) -> list[Session]:
    """Loading is cold only once in a process."""
    seen: dict[int, Session] = {}
    for unit in units:
        seen.setdefault(unit.process, unit.session)
    return list(seen.values())


def _memory(firsts: Sequence[Session]) -> Memory | None:
    readings = [session.memory for session in firsts if session.memory]
    return max(readings, key=lambda m: m.peak_bytes - m.engine_bytes) if readings else None


def _preempted(sessions: Sequence[Session]) -> float:
    switches = sum(session.samples.involuntary_switches for session in sessions)
    samples = sum(len(session.samples.wall_ns) for session in sessions)
    return min(1.0, switches / samples)


def _worst_parity(sessions: Sequence[Session]) -> Parity | None:
    found = [session.parity for session in sessions if session.parity]
    return max(found, key=lambda parity: parity.max_rel_error) if found else None
