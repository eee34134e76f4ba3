"""The machine that a result was measured on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from modeldyno.core.documents.described import Count, Described, Positive, Schema, Size
from modeldyno.core.errors import BadValue

_MACHINE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MACHINE_PART = re.compile(r"(os|board)-[0-9a-f]{16}")


@dataclass(frozen=True)
class HostFacts(Described):
    """The machine the numbers were made on; null where the system does not say."""

    fingerprint: Annotated[str, Schema(pattern="^[0-9a-f]{16}$")]
    """Short hash of everything below but `machine`: another value means that the hardware or its
    system differs."""
    system: str
    """Operating system."""
    kernel: str
    """Its kernel release."""
    cpu_model: str
    """As the CPU calls itself."""
    cpus: Size
    """CPUs the system sees."""
    cpus_allowed: tuple[Count, ...]
    """Numbers of the CPUs we may run on."""
    cpu_quota: Positive | None
    """Cores' worth of CPU time that the cgroup allows; null when there is no limit."""
    instruction_sets: tuple[str, ...]
    """Those that matter for inference, by the kernel's names."""
    cache_bytes: dict[str, int]
    """Cache sizes of the first CPU by level: L1d, L1i, L2, L3."""
    numa_nodes: Size | None
    """Memory nodes."""
    memory_bytes: Count
    """Memory of the machine, or the cgroup's limit where that is less."""
    hypervisor: bool | None
    """Whether this is a virtual machine."""
    governor: str | None
    """CPU frequency governor of all CPUs, joined by + where they differ."""
    boost: bool | None
    """Whether the CPU may exceed its nominal frequency."""
    huge_pages: str | None
    """Transparent huge pages: always, madvise or never."""
    microcode: str | None
    """The CPU's microcode revision."""
    libc: str
    """C library and version."""
    python: str
    """Python version."""
    smt: bool | None = None
    """Whether two CPUs may share a core."""
    clocksource: str | None = None
    """What the kernel tells the time by."""
    isolated_cpus: tuple[Count, ...] = ()
    """CPUs kept free of other programs at boot."""
    nohz_full: tuple[Count, ...] = ()
    """CPUs without a periodic tick."""
    container: str | None = None
    """Kind of container we run in; null when none is seen."""
    swap_bytes: Count | None = None
    """Size of the swap space."""
    has_pressure: bool | None = None
    """Whether the kernel says how long tasks waited for CPUs."""
    machine: str | None = None
    """Which machine it is: hashes of the ids that its system (`os-…`) and its board (`board-…`)
    have, or the name in MODELDYNO_MACHINE; null when unknown."""


@dataclass(frozen=True)
class HostReading:
    """Volatile facts: counters read before and after a run."""

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
    """Disturbances by other work on the machine while we measured."""

    load_1m: float | None
    pressure: float | None  # share of the time in which some task waited for a CPU
    steal: float | None  # share of CPU time taken by the hypervisor
    throttled_s: float | None
    busy: float | None = None  # share of the time of all CPUs, our own work included
    memory_available_bytes: int | None = None  # at the end
    swap_used_bytes: int | None = None  # at the end
    swapped_in_bytes: int | None = None  # read back from swap meanwhile


def machine_name(name: str) -> str:
    """The machine's name from a setting; raises BadValue."""
    if not _MACHINE_NAME.fullmatch(name):
        raise BadValue(
            f"{name!r} cannot be the name of a machine",
            why="a name has up to 64 letters, digits, dots, dashes and underscores, and begins "
            "with a letter or a digit",
            fix="Set MODELDYNO_MACHINE to a name such as lab-2, or leave it out",
        )
    return name


def are_machines_different(a: str | None, b: str | None) -> bool:
    """Whether these are known to be two machines.

    The board decides if both have one: a container has a system of its own, and two systems made
    from one image may share an id. Only root can read the board's id, so it is often missing.
    """
    if a is None or b is None:
        return False
    parts_a, parts_b = _machine_parts(a), _machine_parts(b)
    for part in ("board", "os"):
        if part in parts_a and part in parts_b:
            return parts_a[part] != parts_b[part]
    has_name = "name" in parts_a or "name" in parts_b
    return has_name and a != b


def _machine_parts(machine: str) -> dict[str, str]:
    """``os-… board-…`` by prefix; ``name`` for a name from a setting."""
    words = machine.split()
    if not all(map(_MACHINE_PART.fullmatch, words)):
        return {"name": machine}
    return {word.partition("-")[0]: word for word in words}


def tool_version() -> str:
    """The installed version; "source" where the package runs without being installed."""
    try:
        return version("modeldyno")
    except PackageNotFoundError:
        return "source"
