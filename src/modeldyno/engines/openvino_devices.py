"""OpenVINO's name for a device, and settings that leave nothing to its silent defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from modeldyno.core.errors import BadValue, EngineUnavailable

_DEVICES = {"cpu": "CPU", "gpu": "GPU", "npu": "NPU"}
DEVICES = tuple(_DEVICES)
_HINTS = {None: "f32", "fp32": "f32", "bf16": "bf16", "fp16": "f16"}
_PRECISIONS = {"f32": "fp32", "bf16": "bf16", "f16": "fp16"}


@dataclass(frozen=True)
class OpenVinoDevice:
    """One of our devices in OpenVINO's terms."""

    kind: str  # "gpu"
    index: str  # empty: the first or only one

    @property
    def openvino_name(self) -> str:
        """``CPU``, ``GPU.1``."""
        return f"{_DEVICES[self.kind]}.{self.index}" if self.index else _DEVICES[self.kind]

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.index}" if self.index else self.kind


def find_device(name: str, available: Callable[[], Sequence[str]]) -> OpenVinoDevice:
    """Raises BadValue for a device that we do not know, EngineUnavailable for one not here.

    ``available`` is called only for devices other than the CPU: it loads all drivers.
    """
    kind, colon, index = name.partition(":")
    device = OpenVinoDevice(kind, index)
    if kind not in _DEVICES or (colon and (kind == "cpu" or not index.isdigit())):
        raise BadValue(f"OpenVINO has no device {name!r}", fix="Use cpu, gpu, gpu:1 or npu")
    if kind == "cpu":
        return device
    names = available()
    if device.openvino_name not in names and f"{device.openvino_name}.0" not in names:
        raise EngineUnavailable(
            f"OpenVINO cannot use device {name!r} here",
            why=f"it found {', '.join(names) or 'nothing'}; an Intel GPU or NPU needs its driver",
            fix="Use --device cpu",
        )
    return device


def precision_hint(precision: str | None) -> str:
    """The precision to set: by default OpenVINO would take bf16 if the CPU has it."""
    if precision not in _HINTS:
        raise BadValue(
            f"OpenVINO cannot run in precision {precision!r}",
            why="it computes floats in fp32, bf16 or fp16; int8 needs a quantized model",
            fix="Use --precision fp32, bf16 or fp16, or give a model that was quantized",
        )
    return _HINTS[precision]


def require_hint(requested: str, effective: str) -> None:
    """OpenVINO picks another precision if the device lacks the requested one; we raise instead."""
    if requested != effective:
        instead = _PRECISIONS.get(effective, effective)
        raise BadValue(
            f"OpenVINO cannot compute in {_PRECISIONS[requested]} here",
            why=f"this device lacks it, and OpenVINO would use {instead} instead",
            fix="Use --precision fp32, or a precision that this device has",
        )


def require_streams(requested: int, effective: int, threads: int) -> None:
    """OpenVINO creates fewer streams if there are not enough threads; we raise instead."""
    if requested != effective:
        raise BadValue(
            f"OpenVINO created {effective} of the {requested} requested streams",
            why=f"it has {threads} threads, and each stream needs one",
            fix=f"Use --cores {requested} or more, or fewer streams",
        )


def settings(device: OpenVinoDevice, threads: int, hint: str, streams: int = 1) -> dict[str, Any]:
    """An explicit setting for everything that OpenVINO would choose by itself."""
    for_any_device: dict[str, Any] = {
        "INFERENCE_PRECISION_HINT": hint,
        "NUM_STREAMS": streams,
        "CACHE_DIR": "",
    }
    if device.kind != "cpu":
        return for_any_device
    return for_any_device | {
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,  # the worker pins itself; OpenVINO may not know these cores
        "ENABLE_HYPER_THREADING": True,  # use every CPU that we were given
        # Otherwise activations silently become int8 wherever weights are.
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        "KV_CACHE_PRECISION": hint,
    }
