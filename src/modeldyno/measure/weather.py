"""The machine's load during a run, from counters read before and after it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from modeldyno.core.hosts import HostReading, HostWeather
from modeldyno.measure import cgroup
from modeldyno.measure.system_files import ROOT, read_fields, read_text

UNKNOWN = HostWeather(None, None, None, None)


def read(root: Path = ROOT) -> HostReading:
    ticks = _ticks(root)
    memory = read_fields(root / "proc/meminfo", ":")
    return HostReading(
        load_1m=_load_1m(root),
        cpu_pressure_us=_pressure_us(root),
        steal_ticks=ticks[7] if ticks else None,
        cpu_ticks=sum(ticks) if ticks else None,
        throttled_us=cgroup.throttled_us(root),
        memory_available_bytes=_bytes(memory.get("MemAvailable")),
        monotonic_s=time.monotonic(),
        idle_ticks=ticks[3] + ticks[4] if ticks else None,
        swap_used_bytes=_difference(
            _bytes(memory.get("SwapFree")), _bytes(memory.get("SwapTotal"))
        ),
        swapped_in_bytes=_swapped_in_bytes(root),
    )


def weather(before: HostReading, after: HostReading) -> HostWeather:
    """The load between two readings."""
    seconds = max(1e-9, after.monotonic_s - before.monotonic_s)
    waited = _difference(before.cpu_pressure_us, after.cpu_pressure_us)
    ticks = _difference(before.cpu_ticks, after.cpu_ticks)
    idle = _share(_difference(before.idle_ticks, after.idle_ticks), ticks)
    throttled = _difference(before.throttled_us, after.throttled_us)
    return HostWeather(
        load_1m=after.load_1m,
        pressure=None if waited is None else min(1.0, waited / 1e6 / seconds),
        steal=_share(_difference(before.steal_ticks, after.steal_ticks), ticks),
        throttled_s=None if throttled is None else throttled / 1e6,
        busy=None if idle is None else max(0.0, 1.0 - idle),
        memory_available_bytes=after.memory_available_bytes,
        swap_used_bytes=after.swap_used_bytes,
        swapped_in_bytes=_difference(before.swapped_in_bytes, after.swapped_in_bytes),
    )


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _load_1m(root: Path) -> float | None:
    words = (read_text(root / "proc/loadavg") or "").split()
    if words:
        return float(words[0])
    return os.getloadavg()[0] if root == ROOT and hasattr(os, "getloadavg") else None


def _pressure_us(root: Path) -> int | None:
    """Total time in which at least one task waited for a CPU: ``some avg10=… total=N``."""
    line = (read_text(root / "proc/pressure/cpu") or "").partition("\n")[0]
    return int(line.rpartition("total=")[2]) if "total=" in line else None


def _ticks(root: Path) -> list[int] | None:
    """All CPUs: user, nice, system, idle, iowait, irq, softirq, steal."""
    line = (read_text(root / "proc/stat") or "").partition("\n")[0].split()
    return [int(ticks) for ticks in line[1:9]] if len(line) >= 9 else None


def _swapped_in_bytes(root: Path) -> int | None:
    pages = read_fields(root / "proc/vmstat").get("pswpin")
    return int(pages) * os.sysconf("SC_PAGE_SIZE") if pages else None


def _bytes(kibibytes: str | None) -> int | None:
    return int(kibibytes.split()[0]) * 1024 if kibibytes else None
