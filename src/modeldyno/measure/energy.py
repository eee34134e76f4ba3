"""Energy per item, read from the machine's own meters (docs/doctor.md, energy).

The parent reads the meter before and after a window in which a warm model is called and nothing
else happens. A meter counts everything on its package or GPU, including other programs and idle
power, so what we publish is an upper bound for the model alone.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NewType, Protocol

from modeldyno.core.sessions import Energy, Session
from modeldyno.measure.system_files import ROOT, read_int, read_text

Counts = tuple[int, ...]
Device = NewType("Device", object)  # of NVML
_NVML = "libnvidia-ml.so.1"


# ---------------------------------------------------------------- NVIDIA's management library
#
# It comes with the driver. Calling it directly saves us a Python package, so that energy can be
# metered even if only the engine is installed.


class NvmlError(Exception):
    """The library's own error message."""


class Nvml(Protocol):
    def by_index(self, index: int) -> Device: ...
    def by_uuid(self, uuid: str) -> Device: ...
    def energy_mj(self, device: Device) -> int:
        """Millijoules since the driver was loaded; Volta or newer."""


@functools.cache  # the first call may have to wake the driver, which takes a second
def load_nvml() -> Nvml:
    try:
        library = ctypes.CDLL(_NVML)
    except OSError as error:
        raise NvmlError(f"{_NVML} is missing; it comes with the NVIDIA driver") from error
    return _Library(library)


class _Library:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.nvmlErrorString.restype = ctypes.c_char_p
        self._call_library("nvmlInit_v2")

    def by_index(self, index: int) -> Device:
        device = ctypes.c_void_p()
        self._call_library(
            "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device)
        )
        return Device(device)

    def by_uuid(self, uuid: str) -> Device:
        device = ctypes.c_void_p()
        self._call_library("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(device))
        return Device(device)

    def energy_mj(self, device: Device) -> int:
        energy = ctypes.c_ulonglong()
        self._call_library("nvmlDeviceGetTotalEnergyConsumption", device, ctypes.byref(energy))
        return energy.value

    def _call_library(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise NvmlError(self._library.nvmlErrorString(code).decode())


# ---------------------------------------------------------------- meters


@dataclass(frozen=True)
class Meter:
    """Counters that only grow, until they wrap around to 0."""

    source: str
    read: Callable[[], Counts]
    unit_j: float
    wraps_at: Counts = ()  # empty: they never wrap

    def spent_j(self, before: Counts, after: Counts) -> float:
        """Joules between two readings; each counter may wrap at most once."""
        wraps = self.wraps_at or (0,) * len(before)
        counts = [
            end - start if end >= start else end - start + wrap
            for start, end, wrap in zip(before, after, wraps, strict=True)
        ]
        return sum(counts) * self.unit_j


class NoMeter(Exception):
    """Why energy cannot be read here."""


def find_meter(
    device: str,
    root: Path = ROOT,
    nvml: Callable[[], Nvml] = load_nvml,
    environment: Mapping[str, str] = os.environ,
) -> Meter:
    """The meter of a cell's device; raises NoMeter with the reason."""
    kind, _, index = device.partition(":")
    if kind == "cpu":
        return _rapl_meter(root / "sys/class/powercap")
    if kind in ("cuda", "tensorrt"):
        return _gpu_meter(int(index or 0), nvml, environment.get("CUDA_VISIBLE_DEVICES"))
    raise NoMeter(f"no energy meter is known for {kind}")


# ---------------------------------------------------------------- CPU packages


def _rapl_meter(powercap: Path) -> Meter:
    """The package domains, which include their cores and, on some CPUs, memory."""
    packages = [
        folder
        for folder in sorted(powercap.glob("intel-rapl*:*"))
        if (read_text(folder / "name") or "").startswith("package")
        and not folder.name.startswith("intel-rapl-mmio")  # the same counter under another name
    ]
    if not packages:
        raise NoMeter("this machine has no RAPL energy counter (virtual machines rarely have one)")
    files = [folder / "energy_uj" for folder in packages]
    if any(read_int(file) is None for file in files):
        raise NoMeter(f"no permission to read {files[0]} (needs root)")
    return Meter(
        source="rapl package: all of the CPU package, other programs included",
        read=lambda: tuple(read_int(file) or 0 for file in files),
        unit_j=1e-6,
        wraps_at=tuple((read_int(p / "max_energy_range_uj") or 0) + 1 for p in packages),
    )


# ---------------------------------------------------------------- GPUs


def _gpu_meter(index: int, nvml: Callable[[], Nvml], visible: str | None) -> Meter:
    """CUDA numbers only the visible devices, NVML all of them."""
    try:
        library = nvml()
        name = _visible_nvml_device(index, visible)
        handle = library.by_uuid(name) if isinstance(name, str) else library.by_index(name)
        library.energy_mj(handle)
    except NvmlError as error:
        raise NoMeter(f"NVML: {error}") from error
    return Meter(
        source="nvml: all of the GPU, other programs included",
        read=lambda: (library.energy_mj(handle),),
        unit_j=1e-3,
    )


def _visible_nvml_device(index: int, visible: str | None) -> int | str:
    """The device that CUDA calls ``index``: a number or a UUID."""
    if not visible:
        return index
    devices = [name.strip() for name in visible.split(",")]
    if index >= len(devices):
        raise NoMeter(f"CUDA_VISIBLE_DEVICES lists {len(devices)} devices, none is number {index}")
    return int(devices[index]) if devices[index].isdigit() else devices[index]


# ---------------------------------------------------------------- metering


class EnergyGauge:
    """One cell's meter, or the reason why there is none; never raises."""

    def __init__(self, device: str, find: Callable[[str], Meter] = find_meter) -> None:
        self._meter: Meter | None = None
        self._why = ""
        try:
            self._meter = find(device)
        except NoMeter as reason:
            self._why = str(reason)

    @property
    def has_meter(self) -> bool:
        return self._meter is not None

    def start(self) -> Counts:
        return self._read_counts() if self._meter else ()

    def stop(self, before: Counts, calls: float) -> Energy:
        """Energy spent since ``before``, during which ``calls`` were made."""
        after = self._read_counts() if self._meter and before else ()
        if self._meter is None or not after:
            return self.unread()
        return Energy(self._meter.spent_j(before, after), self._meter.source, calls)

    def unread(self) -> Energy:
        return Energy(None, self._why or "energy was not read")

    def _read_counts(self) -> Counts:
        assert self._meter is not None
        try:
            return self._meter.read()
        except NvmlError as error:
            self._why = f"NVML: {error}"
            return ()


def per_item(sessions: Sequence[Session], batch_size: int) -> tuple[float | None, str]:
    """Joules per item over all metered sessions, and the meter's name or why there is none."""
    metered = [s for s in sessions if s.energy and s.energy.joules is not None and s.energy.calls]
    if not metered:
        reasons = [s.energy.source for s in sessions if s.energy is not None]
        return None, reasons[0] if reasons else "energy was not read"
    readings = [s.energy for s in metered if s.energy]
    joules = sum(reading.joules or 0.0 for reading in readings)
    items = batch_size * sum(reading.calls for reading in readings)
    return joules / items, readings[0].source
