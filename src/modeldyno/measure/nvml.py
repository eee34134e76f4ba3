"""The part of NVIDIA's management library that an energy meter needs.

The library comes with the driver. Calling it directly saves us a Python package, so that energy
can be metered even if only the engine is installed.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NewType, Protocol

Device = NewType("Device", object)
_LIBRARY = "libnvidia-ml.so.1"


class NvmlError(Exception):
    """The library's own error message."""


class Nvml(Protocol):
    def by_index(self, index: int) -> Device: ...
    def by_uuid(self, uuid: str) -> Device: ...
    def energy_mj(self, device: Device) -> int:
        """Millijoules since the driver was loaded; Volta or newer."""


@functools.cache  # the first call may have to wake the driver, which takes a second
def load() -> Nvml:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise NvmlError(f"{_LIBRARY} is missing; it comes with the NVIDIA driver") from error
    return _Library(library)


class _Library:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.nvmlErrorString.restype = ctypes.c_char_p
        self._call("nvmlInit_v2")

    def by_index(self, index: int) -> Device:
        device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
        return Device(device)

    def by_uuid(self, uuid: str) -> Device:
        device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(device))
        return Device(device)

    def energy_mj(self, device: Device) -> int:
        energy = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", device, ctypes.byref(energy))
        return energy.value

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise NvmlError(self._library.nvmlErrorString(code).decode())
