"""The machine a number was made on: no result without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostFacts:
    """The stable part, hashed into ``fingerprint``; ``None`` where the system does not say."""

    fingerprint: str
    system: str
    kernel: str
    cpu_model: str
    cpus: int  # visible to the system
    cpus_allowed: tuple[int, ...]  # that we may run on
    cpu_quota: float | None  # cores' worth allowed by the cgroup
    instruction_sets: tuple[str, ...]
    cache_bytes: dict[str, int]
    numa_nodes: int | None
    memory_bytes: int
    hypervisor: bool | None
    governor: str | None  # of all CPUs; joined by + where they differ
    boost: bool | None
    huge_pages: str | None
    microcode: str | None
    libc: str
    python: str
    smt: bool | None = None  # whether two CPUs may share a core
    clocksource: str | None = None
    isolated_cpus: tuple[int, ...] = ()
    nohz_full: tuple[int, ...] = ()  # CPUs without a periodic tick
    container: str | None = None
    swap_bytes: int | None = None
    has_pressure: bool | None = None  # whether the kernel says how long tasks waited


@dataclass(frozen=True)
class HostReading:
    """The volatile part: counters read before and after a run."""

    load_1m: float | None
    cpu_pressure_us: int | None  # time some task waited for a CPU, since boot
    steal_ticks: int | None
    cpu_ticks: int | None  # all CPUs, all states
    throttled_us: int | None  # by the cgroup's quota
    monotonic_s: float
    idle_ticks: int | None = None
    memory_available_bytes: int | None = None
    swap_used_bytes: int | None = None
    swapped_in_bytes: int | None = None  # since boot


@dataclass(frozen=True)
class HostWeather:
    """What the machine did to us while we measured."""

    load_1m: float | None
    pressure: float | None  # share of the time some task waited for a CPU
    steal: float | None  # share of CPU time taken by the hypervisor
    throttled_s: float | None
    busy: float | None = None  # share of all CPUs' time, ours and everybody's
    memory_available_bytes: int | None = None  # at the end
    swap_used_bytes: int | None = None  # at the end
    swapped_in_bytes: int | None = None  # read back from swap meanwhile
