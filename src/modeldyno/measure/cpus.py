"""The CPUs we may use, the cores they belong to, and which of them are idle."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modeldyno.measure.system_files import ROOT, parse_cpu_list, read_fields, read_int, read_text

IDLE_WINDOW_S = 0.05  # the kernel counts idle time in steps of 10 ms


def allowed_cpus() -> tuple[int, ...]:
    """The CPUs of this process; threads may be limited to fewer (``jobs/server_leases.py``)."""
    if not hasattr(os, "sched_getaffinity"):
        return tuple(range(os.cpu_count() or 1))
    cpus = set(os.sched_getaffinity(0))
    for thread in thread_ids():
        with contextlib.suppress(OSError):  # it has ended
            cpus |= os.sched_getaffinity(thread)
    return tuple(sorted(cpus))


def thread_ids() -> list[int]:
    """The kernel's ids of this process's threads; empty if the system has no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]  # noqa: PTH208 - numbers
    except OSError:
        return []


@functools.cache  # read several times per session, and constant until the next boot
def core_siblings(cpu: int, root: Path = ROOT) -> tuple[int, ...]:
    """All CPUs of this CPU's physical core, including itself."""
    path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    return parse_cpu_list(read_text(path)) or (cpu,)


def read_idle_ticks(root: Path = ROOT) -> dict[int, int]:
    ticks: dict[int, int] = {}
    for line in (read_text(root / "proc/stat") or "").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu":
            ticks[int(words[0][3:])] = int(words[4])
    return ticks


def measure_idle_ticks() -> dict[int, int]:
    """Idle ticks of each CPU over a short window: more is better."""
    before = read_idle_ticks()
    time.sleep(IDLE_WINDOW_S)
    return {cpu: ticks - before.get(cpu, 0) for cpu, ticks in read_idle_ticks().items()}


def rank_cpus(
    cores: Iterable[Sequence[int]], idle: dict[int, int]
) -> list[tuple[int, tuple[int, ...]]]:
    """(CPU, its core) from best to worst: one CPU of every core before a second of any, idle first.

    A core is as idle as all its CPUs together: siblings share the hardware that we measure.
    """
    ranked = [
        (nth, -sum(idle.get(sibling, 0) for sibling in core), cpu, tuple(core))
        for core in cores
        for nth, cpu in enumerate(sorted(core, key=lambda cpu: (-idle.get(cpu, 0), cpu)))
    ]
    return [(cpu, core) for _, _, cpu, core in sorted(ranked)]


def format_cpu_ranges(cpus: Iterable[int]) -> str:
    """(0, 1, 2, 5) → ``0-2,5``."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


# ---------------------------------------------------------------- topology


@dataclass(frozen=True)
class Topology:
    sockets: int
    cores: int  # of all sockets
    threads: int
    min_mhz: float | None  # None: unknown
    max_mhz: float | None
    bios: str | None


def topology(root: Path = ROOT, cpus: Iterable[int] | None = None) -> Topology:
    """Describes the CPUs this process may run on."""
    usable = [*(allowed_cpus() if cpus is None else cpus)]
    at = root / "sys/devices/system/cpu"
    sockets = {read_int(at / f"cpu{cpu}/topology/physical_package_id") or 0 for cpu in usable}
    frequencies = at / f"cpu{usable[0]}/cpufreq"
    return Topology(
        sockets=len(sockets),
        cores=len({core_siblings(cpu, root) for cpu in usable}),
        threads=len(usable),
        min_mhz=_khz_to_mhz(read_int(frequencies / "cpuinfo_min_freq")),
        max_mhz=_khz_to_mhz(read_int(frequencies / "cpuinfo_max_freq")) or _read_cpuinfo_mhz(root),
        bios=read_text(root / "sys/class/dmi/id/bios_version"),
    )


def _khz_to_mhz(khz: int | None) -> float | None:
    return None if khz is None else khz / 1000


def _read_cpuinfo_mhz(root: Path) -> float | None:
    """The current clock; virtual machines often hide the range of frequencies."""
    try:
        return float(read_fields(root / "proc/cpuinfo", ":").get("cpu MHz", ""))
    except ValueError:
        return None
