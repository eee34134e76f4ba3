"""How the CPUs that we may use are put together, and how fast they go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from modeldyno.measure.cpus import allowed_cpus, core_of
from modeldyno.measure.system_files import ROOT, fields, number, text


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
        cores=len({core_of(cpu, root) for cpu in usable}),
        threads=len(usable),
        min_mhz=_mhz(number(frequencies / "cpuinfo_min_freq")),
        max_mhz=_mhz(number(frequencies / "cpuinfo_max_freq")) or _told_mhz(root),
        bios=text(root / "sys/class/dmi/id/bios_version"),
    )


def _mhz(khz: int | None) -> float | None:
    return None if khz is None else khz / 1000


def _told_mhz(root: Path) -> float | None:
    """Of machines that are not real, which hide the rest."""
    try:
        return float(fields(root / "proc/cpuinfo", ":").get("cpu MHz", ""))
    except ValueError:
        return None
