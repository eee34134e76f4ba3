"""The CPUs we may use, the cores they belong to, and which of them are idle."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from modeldyno.measure.system_files import ROOT, cpu_list, text

LOOK_S = 0.05  # the kernel counts idle time in steps of 10 ms


def allowed_cpus() -> tuple[int, ...]:
    """Of this process: one of its threads may keep to fewer for a while (``jobs/elsewhere.py``)."""
    if not hasattr(os, "sched_getaffinity"):
        return tuple(range(os.cpu_count() or 1))
    found = set(os.sched_getaffinity(0))
    for thread in threads():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found |= os.sched_getaffinity(thread)
    return tuple(sorted(found))


def threads() -> list[int]:
    """Of this process, by the kernel's numbers; none where it does not tell."""
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]  # noqa: PTH208 - numbers
    except OSError:
        return []


@functools.cache  # asked several times for each session, and the same until the next boot
def core_of(cpu: int, root: Path = ROOT) -> tuple[int, ...]:
    """All CPUs of this CPU's physical core, itself among them."""
    path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    return cpu_list(text(path)) or (cpu,)


def idle_ticks(root: Path = ROOT) -> dict[int, int]:
    found: dict[int, int] = {}
    for line in (text(root / "proc/stat") or "").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu":
            found[int(words[0][3:])] = int(words[4])
    return found


def idleness(look_s: float = LOOK_S) -> dict[int, int]:
    """Idle ticks of each CPU over a short look: more is better."""
    before = idle_ticks()
    time.sleep(look_s)
    return {cpu: ticks - before.get(cpu, 0) for cpu, ticks in idle_ticks().items()}


def by_preference(
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


def ranges(cpus: Iterable[int]) -> str:
    """(0, 1, 2, 5) → ``0-2,5``."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)
