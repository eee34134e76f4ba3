"""The machine: what it is (stable, fingerprinted) and what it is doing (volatile)."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from dataclasses import asdict, replace
from pathlib import Path

from modeldyno.core.hosts import HostFacts, HostReading, HostWeather

_INSTRUCTION_SETS = (
    "sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16",
    "asimd", "asimddp", "sve", "sve2", "i8mm", "bf16",
)  # fmt: skip
UNKNOWN = HostWeather(None, None, None, None)
_CPU = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup")


def facts() -> HostFacts:
    cpuinfo = _cpuinfo()
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    libc = " ".join(platform.libc_ver()).strip() or "unknown"
    host = HostFacts(
        fingerprint="",
        system=platform.system(),
        kernel=platform.release(),
        cpu_model=cpuinfo.get("model name") or platform.processor() or platform.machine(),
        cpus=os.cpu_count() or 1,
        cpus_allowed=allowed_cpus(),
        cpu_quota=cpu_quota(),
        instruction_sets=tuple(name for name in _INSTRUCTION_SETS if name in flags),
        cache_bytes=_caches(),
        numa_nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        memory_bytes=memory_bytes(),
        hypervisor=("hypervisor" in flags) if flags else None,
        governor=_text(_CPU / "cpu0/cpufreq/scaling_governor"),
        boost=_boost(),
        huge_pages=_chosen(_text(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        microcode=cpuinfo.get("microcode"),
        libc=libc,
        python=platform.python_version(),
    )
    return replace(host, fingerprint=_fingerprint(host))


def _fingerprint(host: HostFacts) -> str:
    """Short hash of everything that makes numbers comparable; a change is a new machine."""
    stable = json.dumps(asdict(host), sort_keys=True)
    return hashlib.sha256(stable.encode()).hexdigest()[:16]


def allowed_cpus() -> tuple[int, ...]:
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def memory_bytes() -> int:
    """What we may use: the machine's memory or the cgroup's limit, whichever is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _text(_CGROUP / "memory.max")
    return min(total, int(limit)) if limit and limit.isdigit() else total


def cpu_quota() -> float | None:
    """Cores' worth of CPU time that the cgroup allows; None when unlimited or unknown."""
    quota, _, period = (_text(_CGROUP / "cpu.max") or "max 1").partition(" ")
    return int(quota) / int(period) if quota.isdigit() else None


def quietest_cpus(count: int, look_s: float = 0.02) -> tuple[int, ...]:
    """The ``count`` least busy CPUs we may use, by their idle time over a short look."""
    allowed = allowed_cpus()
    if count >= len(allowed):
        return allowed
    before = _idle_ticks()
    time.sleep(look_s)
    after = _idle_ticks()
    idle = {cpu: after.get(cpu, 0) - before.get(cpu, 0) for cpu in allowed}
    return tuple(sorted(sorted(allowed, key=lambda cpu: -idle[cpu])[:count]))


def read() -> HostReading:
    steal, ticks = _steal()
    return HostReading(
        load_1m=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        cpu_pressure_us=_pressure_us(),
        steal_ticks=steal,
        cpu_ticks=ticks,
        throttled_us=_throttled_us(),
        monotonic_s=time.monotonic(),
    )


def weather(before: HostReading, after: HostReading) -> HostWeather:
    """What happened between two readings."""
    seconds = max(1e-9, after.monotonic_s - before.monotonic_s)
    waited = _difference(before.cpu_pressure_us, after.cpu_pressure_us)
    stolen = _difference(before.steal_ticks, after.steal_ticks)
    ticks = _difference(before.cpu_ticks, after.cpu_ticks)
    throttled = _difference(before.throttled_us, after.throttled_us)
    return HostWeather(
        load_1m=after.load_1m,
        pressure=None if waited is None else min(1.0, waited / 1e6 / seconds),
        steal=None if stolen is None or not ticks else stolen / ticks,
        throttled_s=None if throttled is None else throttled / 1e6,
    )


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _pressure_us() -> int | None:
    """Total time in which some task waited for a CPU: ``some avg10=… total=N``."""
    line = (_text(Path("/proc/pressure/cpu")) or "").partition("\n")[0]
    return int(line.rpartition("total=")[2]) if "total=" in line else None


def _steal() -> tuple[int | None, int | None]:
    line = (_text(Path("/proc/stat")) or "").partition("\n")[0].split()
    if len(line) < 9:
        return None, None
    ticks = [int(value) for value in line[1:9]]
    return ticks[7], sum(ticks)


def _idle_ticks() -> dict[int, int]:
    found: dict[int, int] = {}
    for line in (_text(Path("/proc/stat")) or "").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu":
            found[int(words[0][3:])] = int(words[4])
    return found


def _throttled_us() -> int | None:
    for line in (_text(_CGROUP / "cpu.stat") or "").splitlines():
        if line.startswith("throttled_usec"):
            return int(line.split()[1])
    return None


def _cpuinfo() -> dict[str, str]:
    """The first processor's fields."""
    first = (_text(Path("/proc/cpuinfo")) or "").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _caches() -> dict[str, int]:
    found: dict[str, int] = {}
    for folder in sorted((_CPU / "cpu0/cache").glob("index*")):
        level, kind = _text(folder / "level"), _text(folder / "type")
        size = _text(folder / "size") or ""
        if level and kind and size.endswith("K"):
            letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
            found[f"L{level}{letter}"] = int(size[:-1]) * 1024
    return found


def _boost() -> bool | None:
    boost = _text(_CPU / "cpufreq/boost")
    if boost is not None:
        return boost == "1"
    disabled = _text(_CPU / "intel_pstate/no_turbo")
    return None if disabled is None else disabled == "0"


def _chosen(text: str | None) -> str | None:
    """``always [madvise] never`` → ``madvise``."""
    if not text or "[" not in text:
        return text
    return text.partition("[")[2].partition("]")[0]


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
