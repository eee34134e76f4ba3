"""How a machine's facts and readings affect the numbers, and how to fix it (docs/doctor.md).

Each judgement turns readings into a finding. Its thresholds are those of the noise verdicts if they
have one, otherwise round figures that docs/doctor.md explains.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import pairwise, repeat
from pathlib import Path

from modeldyno.core.documents.hosts import ClockReading, Finding, FindingState, NoiseReading
from modeldyno.core.figures import duration, percent, size
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.sessions import SessionPlan
from modeldyno.measure import loop
from modeldyno.measure.cpus import format_cpu_ranges
from modeldyno.measure.verdicts import CONTENDED, NOISY_GAP, QUIET_CONTENTION, QUIET_GAP

_CPU = "/sys/devices/system/cpu"
_CLOSE = "close other programs; `top -o %CPU` shows them"
_USE_TSC = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
_STEADY_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")


def judge_machine(host: HostFacts, weather: HostWeather) -> Iterator[Finding]:
    """Findings from the system's own facts and counters."""
    yield _judge_governor(host)
    yield _judge_turbo(host)
    yield _judge_smt(host)
    yield _judge_load(host, weather)
    yield _judge_quota(host, weather)
    yield _judge_steal(host, weather)
    yield _judge_swap(weather)
    yield _judge_memory(host, weather)
    yield _judge_huge_pages(host)
    yield _judge_numa(host)
    yield _judge_isolation(host)
    yield _judge_pressure(host)
    yield _judge_virtual_machine(host)
    yield _judge_container(host)


def _grade(reading: float, warning: float, problem: float) -> FindingState:
    if reading >= problem:
        return "problem"
    return "warning" if reading >= warning else "ok"


# ---------------------------------------------------------------- frequency and cores


def _judge_governor(host: HostFacts) -> Finding:
    if host.governor is None:
        return Finding(
            "governor",
            "unknown",
            "not shown",
            "the clock frequency may move while we measure, and we cannot see it",
            "on the host of a virtual machine: sudo cpupower frequency-set -g performance",
        )
    if host.governor == "performance":
        return Finding("governor", "ok", host.governor)
    return Finding(
        "governor",
        "warning",
        host.governor.replace("+", " and "),
        "short runs are measured while the clock still rises: slower and more spread out",
        "sudo cpupower frequency-set -g performance",
    )


def _judge_turbo(host: HostFacts) -> Finding:
    if host.boost is None:
        return Finding("turbo", "unknown", "not shown", "latencies may change with the temperature")
    if not host.boost:
        return Finding("turbo", "ok", "off")
    return Finding(
        "turbo",
        "warning",
        "on",
        "the clock depends on temperature and on how many cores are busy: levels move by 10 % and "
        "more, comparisons in alternation do not",
        f"echo 0 | sudo tee {_CPU}/cpufreq/boost  (Intel: echo 1 to {_CPU}/intel_pstate/no_turbo)",
    )


def _judge_smt(host: HostFacts) -> Finding:
    if host.smt is None:
        return Finding("SMT", "unknown", "not shown", "two CPUs may share one core")
    if not host.smt:
        return Finding("SMT", "ok", "off")
    return Finding(
        "SMT",
        "warning",
        "on",
        "a program on the sibling CPU takes up to half of a core; we keep our own off it",
        f"echo off | sudo tee {_CPU}/smt/control",
    )


def _judge_isolation(host: HostFacts) -> Finding:
    parts = [
        f"{name} {format_cpu_ranges(cpus)}"
        for name, cpus in (("isolated", host.isolated_cpus), ("no tick", host.nohz_full))
        if cpus
    ]
    return Finding("isolated CPUs", "ok", ", ".join(parts) or "none")


def _judge_numa(host: HostFacts) -> Finding:
    if host.numa_nodes is None or host.numa_nodes == 1:
        return Finding("memory nodes", "ok", str(host.numa_nodes or "not shown"))
    return Finding(
        "memory nodes",
        "warning",
        str(host.numa_nodes),
        "memory of another node is slower, so a run depends on where it lands",
        "numactl --cpunodebind=0 --membind=0 modeldyno …",
    )


# ---------------------------------------------------------------- other programs


def _judge_load(host: HostFacts, weather: HostWeather) -> Finding:
    if weather.load_1m is None:
        return Finding("load", "unknown", "not shown", "other programs may run at the same time")
    busy = "" if weather.busy is None else f", {percent(weather.busy)} busy"
    value = f"{weather.load_1m:.2f} on {host.cpus} CPUs{busy}"
    state = _grade(weather.load_1m / host.cpus, 0.3, 1.0)
    if state == "ok":
        return Finding("load", state, value)
    return Finding("load", state, value, "other programs take CPU time and caches", _CLOSE)


def _judge_quota(host: HostFacts, weather: HostWeather) -> Finding:
    if host.cpu_quota is None:
        return Finding("CPU quota", "ok", "none")
    throttled = f", stopped for {duration(weather.throttled_s)}" if weather.throttled_s else ""
    value = f"{host.cpu_quota:g} CPUs{throttled}"
    if host.cpu_quota >= len(host.cpus_allowed) and not throttled:
        return Finding("CPU quota", "ok", value)
    return Finding(
        "CPU quota",
        "problem" if host.cpu_quota < 1 or throttled else "warning",
        value,
        "once it is used up, everything stands still to the end of the period, 100 ms as a rule",
        "start without the limit: no --cpus for docker, CPUQuota= for systemd",
    )


def _judge_steal(host: HostFacts, weather: HostWeather) -> Finding:
    if weather.steal is None:
        return Finding("steal", "unknown", "not shown", "the host may take CPU time unseen")
    state = _grade(weather.steal, 0.01, 0.05)
    value = percent(weather.steal)
    if state == "ok":
        return Finding("steal", state, value)
    effect = "the host gives our CPUs to others: calls take longer than their work"
    return Finding("steal", state, value, effect, "use a machine with dedicated CPUs")


def _judge_swap(weather: HostWeather) -> Finding:
    if weather.swap_used_bytes is None:
        return Finding("swap", "unknown", "not shown", "memory may come back from disk")
    value = f"{size(weather.swap_used_bytes)} used"
    effect = "memory that comes back from disk makes single calls thousands of times slower"
    if weather.swapped_in_bytes:
        value += f", {size(weather.swapped_in_bytes)} read back just now"
        return Finding("swap", "problem", value, effect, "sudo swapoff -a")
    if weather.swap_used_bytes:
        return Finding("swap", "warning", value, effect, "sudo swapoff -a && sudo swapon -a")
    return Finding("swap", "ok", "not used")


def _judge_memory(host: HostFacts, weather: HostWeather) -> Finding:
    if weather.memory_available_bytes is None:
        return Finding("memory", "unknown", "not shown", "large models may not fit")
    free = min(weather.memory_available_bytes, host.memory_bytes)
    value = f"{size(free)} of {size(host.memory_bytes)} available"
    state = _grade(1 - free / host.memory_bytes, 0.75, 0.9)
    if state == "ok":
        return Finding("memory", state, value)
    return Finding("memory", state, value, "large models swap or are killed", "close programs")


def _judge_pressure(host: HostFacts) -> Finding:
    if host.has_pressure:
        return Finding("pressure", "ok", "readable")
    return Finding(
        "pressure",
        "warning",
        "not readable",
        "whether cells with several threads had to wait for CPUs stays unknown",
        "boot the kernel with psi=1",
    )


# ---------------------------------------------------------------- kind of machine


def _judge_huge_pages(host: HostFacts) -> Finding:
    if host.huge_pages != "always":
        return Finding("huge pages", "ok", host.huge_pages or "not shown")
    return Finding(
        "huge pages",
        "warning",
        "always",
        "memory is rearranged in the background: sessions differ more from one another",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )


def _judge_virtual_machine(host: HostFacts) -> Finding:
    if host.hypervisor is None:
        return Finding("virtual machine", "unknown", "not shown")
    if not host.hypervisor:
        return Finding("virtual machine", "ok", "no")
    return Finding(
        "virtual machine",
        "warning",
        "yes",
        "other guests share caches, memory and clock frequency, and we cannot see them; rely on "
        "the floor and on `modeldyno compare`",
        "measure absolute latencies on a dedicated machine",
    )


def _judge_container(host: HostFacts) -> Finding:
    return Finding("container", "ok", host.container or "no")


# ---------------------------------------------------------------- probes


def judge_clock(host: HostFacts, reading: ClockReading) -> Iterator[Finding]:
    yield _judge_clock_source(host, reading)
    yield _judge_timer(reading)


def _judge_clock_source(host: HostFacts, reading: ClockReading) -> Finding:
    cost = duration(reading.cost_s)
    value = f"{host.clocksource or 'unknown source'}, {cost} a reading"
    if reading.went_back:
        value += ", runs backwards"
        return Finding("clock", "problem", value, "no number is right", _USE_TSC)
    state = _grade(reading.cost_s, 200e-9, 1e-6)
    is_odd = host.clocksource is not None and host.clocksource not in _STEADY_CLOCKS
    if state == "ok" and not is_odd:
        return Finding("clock", "ok", value)
    return Finding(
        "clock",
        "warning" if state == "ok" else state,
        value,
        f"each sample is longer by {cost}: calls of some µs look slower than they are",
        _USE_TSC if is_odd else "none",
    )


def _judge_timer(reading: ClockReading) -> Finding:
    value = f"{duration(max(0.0, reading.oversleep_s))} late"
    if reading.oversleep_s < 200e-6:
        return Finding("timer", "ok", value)
    effect = "requests sent at given times go out late; the timed loop itself never sleeps"
    return Finding("timer", "warning", value, effect, _CLOSE)


def judge_pinning(works: bool | None) -> Finding:
    if works is None:
        return Finding("pinning", "unknown", "no such call", "threads wander between CPUs")
    if works:
        return Finding("pinning", "ok", "works")
    return Finding(
        "pinning",
        "problem",
        "refused",
        "threads wander between CPUs and others' caches; core counts are not kept",
        "allow sched_setaffinity (seccomp profile, cpuset of the container)",
    )


def judge_noise(noise: NoiseReading | None) -> Finding:
    if noise is None:
        value = "not probed: another measurement holds the cores"
        return Finding("noise", "unknown", value, fix="try again when it has ended")
    gap = noise.typical_s / noise.floor_s
    value = (
        f"typical {gap:.2f} × floor, contention {noise.contention:.2f} "
        f"({noise.samples} samples of {duration(noise.floor_s)})"
    )
    if noise.contention >= CONTENDED:
        effect = "typical latency and tails belong to the neighbours; floors and comparisons hold"
        return Finding("noise", "problem", value, effect, _CLOSE)
    if noise.contention >= QUIET_CONTENTION or gap >= QUIET_GAP:
        how = "clearly" if gap >= NOISY_GAP else "somewhat"
        return Finding("noise", "warning", value, f"typical latency is {how} above floor", _CLOSE)
    return Finding("noise", "ok", value)


# ---------------------------------------------------------------- experiments


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
        oversleep_s=_measure_oversleep_s(clock, sleep),
    )


def _measure_oversleep_s(clock: Clock, sleep: Callable[[float], None]) -> float:
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
        return all(_can_run_on(cpu) for cpu in {cpus[0], cpus[-1]})
    except OSError:
        return False
    finally:
        os.sched_setaffinity(0, before)


def _can_run_on(cpu: int) -> bool:
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
