"""NVIDIA's management library, as much of it as an energy meter needs.

It comes with the driver; speaking to it directly keeps us free of a Python package, so that energy
is also metered where only the engine is installed.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NewType, Protocol

Device = NewType("Device", object)
_LIBRARY = "libnvidia-ml.so.1"


class NvmlError(Exception):
    """What the library answered instead."""


class Nvml(Protocol):
    def by_index(self, index: int) -> Device: ...
    def by_uuid(self, uuid: str) -> Device: ...
    def energy_mj(self, device: Device) -> int:
        """Millijoules since the driver was loaded; from Volta on."""


@functools.cache  # the first call may wake the driver, which takes a second
def load() -> Nvml:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise NvmlError(f"{_LIBRARY} is not here; it comes with the NVIDIA driver") from error
    return _Library(library)


class _Library:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.nvmlErrorString.restype = ctypes.c_char_p
        self._ask("nvmlInit_v2")

    def by_index(self, index: int) -> Device:
        device = ctypes.c_void_p()
        self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
        return Device(device)

    def by_uuid(self, uuid: str) -> Device:
        device = ctypes.c_void_p()
        self._ask("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(device))
        return Device(device)

    def energy_mj(self, device: Device) -> int:
        energy = ctypes.c_ulonglong()
        self._ask("nvmlDeviceGetTotalEnergyConsumption", device, ctypes.byref(energy))
        return energy.value

    def _ask(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise NvmlError(self._library.nvmlErrorString(code).decode())
