"""Facts about the machine, and its load during a run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from dataclasses import asdict, replace
from pathlib import Path

from modeldyno.core.hosts import HostFacts, HostReading, HostWeather
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.measure.system_files import (
    ROOT,
    cpu_quota,
    memory_limit_bytes,
    parse_cpu_list,
    read_fields,
    read_text,
    selected_option,
    throttled_us,
)

_INSTRUCTION_SETS = (
    "sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16",
    "asimd", "asimddp", "sve", "sve2", "i8mm", "bf16",
)  # fmt: skip
_CONTAINERS = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"),
               ("lxc", "lxc"), ("containerd", "containerd"))  # fmt: skip


def facts(root: Path = ROOT, machine: str | None = None) -> HostFacts:
    """``machine`` is a name set by the user."""
    cpuinfo = _read_cpuinfo(root)
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    cpu = root / "sys/devices/system/cpu"
    host = HostFacts(
        fingerprint="",
        system=platform.system(),
        kernel=platform.release(),
        cpu_model=cpuinfo.get("model name") or platform.processor() or platform.machine(),
        cpus=os.cpu_count() or 1,
        cpus_allowed=allowed_cpus(),
        cpu_quota=cpu_quota(root),
        instruction_sets=tuple(name for name in _INSTRUCTION_SETS if name in flags),
        cache_bytes=_read_cache_sizes(cpu),
        numa_nodes=len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
        memory_bytes=memory_bytes(root),
        hypervisor=("hypervisor" in flags) if flags else None,
        governor=_read_governor(cpu),
        boost=_read_boost(cpu),
        huge_pages=selected_option(read_text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        microcode=cpuinfo.get("microcode"),
        libc=" ".join(platform.libc_ver()).strip() or "unknown",
        python=platform.python_version(),
        smt={"1": True, "0": False}.get(read_text(cpu / "smt/active") or ""),
        clocksource=read_text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        isolated_cpus=parse_cpu_list(read_text(cpu / "isolated")),
        nohz_full=parse_cpu_list(read_text(cpu / "nohz_full")),
        container=_find_container(root),
        swap_bytes=_read_swap_bytes(root),
        has_pressure=read_text(root / "proc/pressure/cpu") is not None,
    )
    return replace(
        host, fingerprint=_machine_fingerprint(host), machine=machine or machine_identity(root)
    )


_MACHINE_ID = re.compile(r"[0-9a-f]{32}")
# Boards without a real id repeat one digit or share this well-known placeholder.
_NO_BOARD = re.compile(r"([0-9a-f])\1*|03000200040005000006000700080009")


def machine_identity(root: Path = ROOT) -> str | None:
    """Hashes of the ids of the operating system and the board; None if neither can be read. The
    ids themselves are private to the machine and never leave it."""
    system = read_text(root / "etc/machine-id") or read_text(root / "var/lib/dbus/machine-id") or ""
    board = (read_text(root / "sys/class/dmi/id/product_uuid") or "").lower().replace("-", "")
    known = {"os": system, "board": "" if _NO_BOARD.fullmatch(board) else board}
    parts = (
        f"{name}-{_hash_words(f'modeldyno {name} {word}')}"
        for name, word in known.items()
        if _MACHINE_ID.fullmatch(word)
    )
    return " ".join(parts) or None


def _hash_words(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _machine_fingerprint(host: HostFacts) -> str:
    """Short hash of all facts that affect numbers; the machine's identity is not among them."""
    facts = asdict(host)
    del facts["machine"]
    return _hash_words(json.dumps(facts, sort_keys=True))


def memory_bytes(root: Path = ROOT) -> int:
    """The machine's memory or the cgroup's limit, whichever is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(total, memory_limit_bytes(root) or total)


def _read_cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's fields."""
    return read_fields(root / "proc/cpuinfo", ":")


def _read_cache_sizes(cpu: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for folder in sorted((cpu / "cpu0/cache").glob("index*")):
        level, kind = read_text(folder / "level"), read_text(folder / "type")
        size = read_text(folder / "size") or ""
        if level and kind and size.endswith("K"):
            letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
            sizes[f"L{level}{letter}"] = int(size[:-1]) * 1024
    return sizes


def _read_governor(cpu: Path) -> str | None:
    """``performance``, or ``performance+powersave`` if CPUs differ."""
    governors = {read_text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return "+".join(sorted(name for name in governors if name)) or None


def _read_boost(cpu: Path) -> bool | None:
    boost = read_text(cpu / "cpufreq/boost")
    if boost is not None:
        return boost == "1"
    disabled = read_text(cpu / "intel_pstate/no_turbo")
    return None if disabled is None else disabled == "0"


def _find_container(root: Path) -> str | None:
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    group = read_text(root / "proc/self/cgroup") or ""
    return next((name for word, name in _CONTAINERS if word in group), None)


def _read_swap_bytes(root: Path) -> int | None:
    total = read_fields(root / "proc/meminfo", ":").get("SwapTotal")
    return int(total.split()[0]) * 1024 if total else None


# ---------------------------------------------------------------- load


UNKNOWN_WEATHER = HostWeather(None, None, None, None)


def read_load(root: Path = ROOT) -> HostReading:
    ticks = _read_ticks(root)
    memory = read_fields(root / "proc/meminfo", ":")
    return HostReading(
        load_1m=_read_load_1m(root),
        cpu_pressure_us=_read_pressure_us(root),
        steal_ticks=ticks[7] if ticks else None,
        cpu_ticks=sum(ticks) if ticks else None,
        throttled_us=throttled_us(root),
        memory_available_bytes=_kibibytes_to_bytes(memory.get("MemAvailable")),
        monotonic_s=time.monotonic(),
        idle_ticks=ticks[3] + ticks[4] if ticks else None,
        swap_used_bytes=_subtract_if_known(
            _kibibytes_to_bytes(memory.get("SwapFree")),
            _kibibytes_to_bytes(memory.get("SwapTotal")),
        ),
        swapped_in_bytes=_read_swapped_in_bytes(root),
    )


def weather(before: HostReading, after: HostReading) -> HostWeather:
    """The load between two readings."""
    seconds = max(1e-9, after.monotonic_s - before.monotonic_s)
    waited = _subtract_if_known(before.cpu_pressure_us, after.cpu_pressure_us)
    ticks = _subtract_if_known(before.cpu_ticks, after.cpu_ticks)
    idle = _divide_if_known(_subtract_if_known(before.idle_ticks, after.idle_ticks), ticks)
    throttled = _subtract_if_known(before.throttled_us, after.throttled_us)
    return HostWeather(
        load_1m=after.load_1m,
        pressure=None if waited is None else min(1.0, waited / 1e6 / seconds),
        steal=_divide_if_known(_subtract_if_known(before.steal_ticks, after.steal_ticks), ticks),
        throttled_s=None if throttled is None else throttled / 1e6,
        busy=None if idle is None else max(0.0, 1.0 - idle),
        memory_available_bytes=after.memory_available_bytes,
        swap_used_bytes=after.swap_used_bytes,
        swapped_in_bytes=_subtract_if_known(before.swapped_in_bytes, after.swapped_in_bytes),
    )


def _subtract_if_known(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _divide_if_known(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _read_load_1m(root: Path) -> float | None:
    words = (read_text(root / "proc/loadavg") or "").split()
    if words:
        return float(words[0])
    return os.getloadavg()[0] if root == ROOT and hasattr(os, "getloadavg") else None


def _read_pressure_us(root: Path) -> int | None:
    """Total time in which at least one task waited for a CPU: ``some avg10=… total=N``."""
    line = (read_text(root / "proc/pressure/cpu") or "").partition("\n")[0]
    return int(line.rpartition("total=")[2]) if "total=" in line else None


def _read_ticks(root: Path) -> list[int] | None:
    """All CPUs: user, nice, system, idle, iowait, irq, softirq, steal."""
    line = (read_text(root / "proc/stat") or "").partition("\n")[0].split()
    return [int(ticks) for ticks in line[1:9]] if len(line) >= 9 else None


def _read_swapped_in_bytes(root: Path) -> int | None:
    pages = read_fields(root / "proc/vmstat").get("pswpin")
    return int(pages) * os.sysconf("SC_PAGE_SIZE") if pages else None


def _kibibytes_to_bytes(kibibytes: str | None) -> int | None:
    return int(kibibytes.split()[0]) * 1024 if kibibytes else None
