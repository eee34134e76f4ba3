"""Which devices an engine can use here, and why not the others; known without importing it.

A guess that errs on the side of trying: what is told as unavailable surely is, the rest is for the
engine to say when it loads a model (``EngineUnavailable``).
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from modeldyno.engines.catalog import Entry, entries, is_usable

_NO_GPU = "no NVIDIA GPU was found (a container needs --gpus all)"
_GPU_NODES = ("nvidiactl", "nvidia0", "dxg")  # the last is Windows' own, for its Linux

_NO_NUMBERS = ("", "-1", "NoDevFiles")  # as NVIDIA's driver reads them


def known() -> tuple[str, ...]:
    """Every device that some engine has a word for: ``cpu`` first."""
    return _of(entries())


def devices_of(entry: Entry) -> dict[str, str]:
    """Each device, and why this engine cannot use it here; an empty text: it can."""
    return {device: why_not(entry, device) for device in known()}


def devices_here() -> dict[str, str]:
    """The same for all engines that are installed: one that can is enough."""
    engines = entries()  # asked once: it looks through every installed package
    usable = [entry for entry in engines if is_usable(entry)]
    return {d: _best([why_not(entry, d) for entry in usable]) for d in _of(engines)}


def _of(engines: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(device for entry in engines for device in entry.devices))


def _best(reasons: list[str]) -> str:
    """None at all where one can; else of those who know the device, before those who do not."""
    if "" in reasons or not reasons:
        return "" if reasons else "no engine is installed"
    return next((why for why in reasons if _HAS_NONE not in why), reasons[0])


_HAS_NONE = "has no such device"


def why_not(entry: Entry, device: str) -> str:
    """Why this engine, if it is installed, cannot use that device here; empty: it may."""
    if device not in entry.devices:
        instead = "; its device on a Mac is coreml" if "coreml" in entry.devices else ""
        return f"{entry.name} {_HAS_NONE}: it has {', '.join(entry.devices)}{instead}"
    match device:
        case "cuda" | "tensorrt":
            return _no_cuda(entry) or _no_gpu()
        case "mps":
            is_apple = sys.platform == "darwin" and platform.machine() == "arm64"
            return "" if is_apple else "this is no Mac with an Apple GPU (a container never is one)"
        case "gpu":
            return "" if _has_node("dri/renderD*") else "no GPU of Intel was found (no render node)"
        case "npu":
            return "" if _has_node("accel/accel*") else "no NPU of Intel was found (/dev/accel)"
        case "coreml":
            return "" if sys.platform == "darwin" else "this is no Mac"
        case _:
            return ""


def _no_cuda(entry: Entry) -> str:
    """Whether the build that is installed lacks it, as far as its name tells."""
    if entry.adapter == "onnxruntime" and not _version(entry, "onnxruntime-gpu"):
        return "this build of ONNX Runtime has none: `pip install onnxruntime-gpu` instead of it"
    version = _version(entry, entry.package or "")
    if version.endswith("+cpu"):
        return f"{entry.name} {version} was built without CUDA"
    return ""


def _version(entry: Entry, package: str) -> str:
    if entry.environment is not None:
        return entry.environment.version(package) or "" if package else ""
    try:
        return importlib.metadata.version(package) if package else ""
    except importlib.metadata.PackageNotFoundError:
        return ""


def _no_gpu() -> str:
    if not any((Path("/dev") / name).exists() for name in _GPU_NODES):
        return _NO_GPU
    # A worker has the same environment.
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in _NO_NUMBERS
    return "CUDA_VISIBLE_DEVICES hides every GPU" if is_hidden else ""


def _has_node(pattern: str) -> bool:
    return any(True for _ in Path("/dev").glob(pattern))
