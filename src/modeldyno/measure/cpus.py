"""The CPUs we may use, the cores they belong to, and which of them are idle."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modeldyno.measure.system_files import ROOT, cpu_list, fields, number, text

LOOK_S = 0.05  # the kernel counts idle time in steps of 10 ms


def allowed_cpus() -> tuple[int, ...]:
    """Of this process: one of its threads may keep to fewer for a while (``jobs/elsewhere.py``)."""
    if not hasattr(os, "sched_getaffinity"):
        return tuple(range(os.cpu_count() or 1))
    found = set(os.sched_getaffinity(0))
    for thread in thread_ids():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found |= os.sched_getaffinity(thread)
    return tuple(sorted(found))


def thread_ids() -> list[int]:
    """Of this process, by the kernel's numbers; none where it does not tell."""
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]  # noqa: PTH208 - numbers
    except OSError:
        return []


@functools.cache  # asked several times for each session, and the same until the next boot
def core_siblings(cpu: int, root: Path = ROOT) -> tuple[int, ...]:
    """All CPUs of this CPU's physical core, itself among them."""
    path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    return cpu_list(text(path)) or (cpu,)


def read_idle_ticks(root: Path = ROOT) -> dict[int, int]:
    found: dict[int, int] = {}
    for line in (text(root / "proc/stat") or "").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu":
            found[int(words[0][3:])] = int(words[4])
    return found


def measure_idle_ticks(look_s: float = LOOK_S) -> dict[int, int]:
    """Idle ticks of each CPU over a short look: more is better."""
    before = read_idle_ticks()
    time.sleep(look_s)
    return {cpu: ticks - before.get(cpu, 0) for cpu, ticks in read_idle_ticks().items()}


def rank_cpus(
    cores: Iterable[Sequence[int]], idle: dict[int, int]
) -> list[tuple[int, tuple[int, ...]]]:
    """(CPU, its core) from best to worst: one CPU of every core before a second of any, idle first.

    A core is as idle as all its CPUs together: siblings share what we measure.
    """
    found = [
        (nth, -sum(idle.get(sibling, 0) for sibling in core), cpu, tuple(core))
        for core in cores
        for nth, cpu in enumerate(sorted(core, key=lambda cpu: (-idle.get(cpu, 0), cpu)))
    ]
    return [(cpu, core) for _, _, cpu, core in sorted(found)]


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
    min_mhz: float | None  # None: the system does not say
    max_mhz: float | None
    bios: str | None


def topology(root: Path = ROOT, cpus: Iterable[int] | None = None) -> Topology:
    """Of the CPUs that this process may run on: others are no use to anybody here."""
    usable = [*(allowed_cpus() if cpus is None else cpus)]
    at = root / "sys/devices/system/cpu"
    sockets = {number(at / f"cpu{cpu}/topology/physical_package_id") or 0 for cpu in usable}
    frequencies = at / f"cpu{usable[0]}/cpufreq"
    return Topology(
        sockets=len(sockets),
        cores=len({core_siblings(cpu, root) for cpu in usable}),
        threads=len(usable),
        min_mhz=_mhz(number(frequencies / "cpuinfo_min_freq")),
        max_mhz=_mhz(number(frequencies / "cpuinfo_max_freq")) or _cpuinfo_mhz(root),
        bios=text(root / "sys/class/dmi/id/bios_version"),
    )


def _mhz(khz: int | None) -> float | None:
    return None if khz is None else khz / 1000


def _cpuinfo_mhz(root: Path) -> float | None:
    """The current clock; virtual machines often hide the range of frequencies."""
    try:
        return float(fields(root / "proc/cpuinfo", ":").get("cpu MHz", ""))
    except ValueError:
        return None
