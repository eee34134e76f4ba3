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
    governor: str | None
    boost: bool | None
    huge_pages: str | None
    microcode: str | None
    libc: str
    python: str


@dataclass(frozen=True)
class HostReading:
    """The volatile part: counters read before and after a run."""

    load_1m: float | None
    cpu_pressure_us: int | None  # time some task waited for a CPU, since boot
    steal_ticks: int | None
    cpu_ticks: int | None  # all CPUs, all states
    throttled_us: int | None  # by the cgroup's quota
    monotonic_s: float


@dataclass(frozen=True)
class HostWeather:
    """What the machine did to us while we measured."""

    load_1m: float | None
    pressure: float | None  # share of the time some task waited for a CPU
    steal: float | None  # share of CPU time taken by the hypervisor
    throttled_s: float | None
