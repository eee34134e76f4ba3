"""Which engines and devices can be used here, and why the others cannot; imports no engine.

An estimate that errs on the side of trying: a device reported unavailable surely is; for the rest
the engine has the last word when it loads a model (``EngineUnavailable``).
"""

from __future__ import annotations

import itertools
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from modeldyno.core.documents.hosts import EngineDocument
from modeldyno.engines.catalog import BUILT_IN, LEGACY, EngineEntry, entries, is_usable, version_of
from modeldyno.engines.environments import installed_version

_ALWAYS_AVAILABLE = "cpu"  # for other devices only loading a model in a worker gives certainty
_UNPROVEN = "seems available; certain only once a worker has loaded a model on it"


def availability() -> tuple[EngineDocument, ...]:
    engines = entries()
    own_colors = {entry.color for entry in (*BUILT_IN, *LEGACY)}
    free_colors = (color for color in itertools.count() if color not in own_colors)
    return tuple(
        availability_of(entry, next(free_colors) if entry.color is None else entry.color)
        for entry in engines
    )


def availability_of(entry: EngineEntry, color: int) -> EngineDocument:
    version, missing = version_of(entry)
    unavailable = {d: why for d in entry.devices if (why := missing or why_not(entry, d))}
    available = tuple(device for device in entry.devices if device not in unavailable)
    return EngineDocument(
        name=entry.name,
        title=entry.title or entry.name,
        color=color,
        usable=missing is None,
        version=version,
        why_not=missing,
        install=entry.install,
        devices=available,
        formats=entry.formats,
        has_streams=entry.has_streams,
        unavailable_devices=unavailable,
        device_notes={d: _UNPROVEN for d in available if d != _ALWAYS_AVAILABLE},
        adapter=entry.adapter,
        python=entry.environment.python_version if entry.environment else None,
        origin=entry.environment.origin if entry.environment else "",
    )


# ---------------------------------------------------------------- devices


_NO_GPU = "no NVIDIA GPU was found (a container needs --gpus all)"
_GPU_NODES = ("nvidiactl", "nvidia0", "dxg")  # the last one is that of Windows' Linux (WSL)
_NO_GPU_VISIBLE = ("", "-1", "NoDevFiles")  # CUDA_VISIBLE_DEVICES, as NVIDIA's driver reads it
_NO_SUCH_DEVICE = "has no such device"


def all_devices() -> tuple[str, ...]:
    """Every device that some engine supports: ``cpu`` first."""
    return _find_devices(entries())


def devices_of(entry: EngineEntry) -> dict[str, str]:
    """Each device, and why this engine cannot use it here; empty text: it can."""
    return {device: why_not(entry, device) for device in all_devices()}


def devices_here() -> dict[str, str]:
    """Each device, and why no installed engine can use it here; empty text: at least one can."""
    engines = entries()  # called once: it scans every installed package
    usable = [entry for entry in engines if is_usable(entry)]
    return {
        d: _choose_reason([why_not(entry, d) for entry in usable]) for d in _find_devices(engines)
    }


def _find_devices(engines: Sequence[EngineEntry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(device for entry in engines for device in entry.devices))


def _choose_reason(reasons: list[str]) -> str:
    """Empty if some engine can; else preferably from an engine that supports the device."""
    if "" in reasons or not reasons:
        return "" if reasons else "no engine is installed"
    return next((why for why in reasons if _NO_SUCH_DEVICE not in why), reasons[0])


def why_not(entry: EngineEntry, device: str) -> str:
    """Why this engine, if it is installed, cannot use that device here; empty: it may."""
    if device not in entry.devices:
        instead = "; its device on a Mac is coreml" if "coreml" in entry.devices else ""
        return f"{entry.name} {_NO_SUCH_DEVICE}: it has {', '.join(entry.devices)}{instead}"
    match device:
        case "cuda" | "tensorrt":
            return _why_no_cuda(entry) or _why_no_gpu()
        case "mps":
            is_apple = sys.platform == "darwin" and platform.machine() == "arm64"
            return "" if is_apple else "this is not a Mac with an Apple GPU (a container never is)"
        case "gpu":
            return "" if _has_node("dri/renderD*") else "no Intel GPU was found (no render node)"
        case "npu":
            return "" if _has_node("accel/accel*") else "no Intel NPU was found (/dev/accel)"
        case "coreml":
            return "" if sys.platform == "darwin" else "this is not a Mac"
        case _:
            return ""


def _why_no_cuda(entry: EngineEntry) -> str:
    """Judged by the installed build's name and version alone; empty: it may have CUDA."""
    if entry.adapter == "onnxruntime" and not installed_version(
        ["onnxruntime-gpu"], entry.environment
    ):
        return "this build of ONNX Runtime lacks it: `pip install onnxruntime-gpu` instead"
    version = installed_version([entry.package], entry.environment) or ""
    if version.endswith("+cpu"):
        return f"{entry.name} {version} was built without CUDA"
    return ""


def _why_no_gpu() -> str:
    if not any((Path("/dev") / name).exists() for name in _GPU_NODES):
        return _NO_GPU
    # Workers inherit this environment.
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in _NO_GPU_VISIBLE
    return "CUDA_VISIBLE_DEVICES hides every GPU" if is_hidden else ""


def _has_node(pattern: str) -> bool:
    return any(True for _ in Path("/dev").glob(pattern))
