"""Which device of OpenVINO a device means, and what to set on it so that nothing is silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from modeldyno.core.errors import BadValue, EngineUnavailable

_DEVICES = {"cpu": "CPU", "gpu": "GPU", "npu": "NPU"}
DEVICES = tuple(_DEVICES)
_HINTS = {None: "f32", "fp32": "f32", "bf16": "bf16", "fp16": "f16"}
_SAID = {"f32": "fp32", "bf16": "bf16", "f16": "fp16"}


@dataclass(frozen=True)
class Placement:
    """A device of ours in OpenVINO's words."""

    kind: str  # "gpu"
    index: str  # empty: the first, or only one

    @property
    def name(self) -> str:
        """``CPU``, ``GPU.1``."""
        return f"{_DEVICES[self.kind]}.{self.index}" if self.index else _DEVICES[self.kind]

    @property
    def device(self) -> str:
        return f"{self.kind}:{self.index}" if self.index else self.kind


def placement(device: str, available: Callable[[], Sequence[str]]) -> Placement:
    """Raises BadValue for a device that we do not know, EngineUnavailable for one not here.

    ``available`` is asked for other devices than the CPU alone: it loads the drivers of all.
    """
    kind, colon, index = device.partition(":")
    found = Placement(kind, index)
    if kind not in _DEVICES or (colon and (kind == "cpu" or not index.isdigit())):
        raise BadValue(
            f"OpenVINO has no device {device!r} that we know", fix="Use cpu, gpu, gpu:1 or npu"
        )
    if kind == "cpu":
        return found
    names = available()
    if found.name not in names and f"{found.name}.0" not in names:
        raise EngineUnavailable(
            f"OpenVINO cannot use device {device!r} here",
            why=f"it found {', '.join(names) or 'nothing'}; a GPU or NPU of Intel needs its driver",
            fix="Use --device cpu",
        )
    return found


def hint(precision: str | None) -> str:
    """In which OpenVINO shall compute: left alone, it takes bf16 where the CPU has it."""
    if precision not in _HINTS:
        raise BadValue(
            f"OpenVINO cannot run in precision {precision!r}",
            why="it computes floats in fp32, bf16 or fp16; int8 is a matter of the model",
            fix="Use --precision fp32, bf16 or fp16, or give a model that was quantized",
        )
    return _HINTS[precision]


def check_hint(asked: str, taken: str) -> None:
    """OpenVINO takes what the device has when it lacks what was asked for; we do not."""
    if asked != taken:
        raise BadValue(
            f"OpenVINO cannot compute in {_SAID[asked]} here",
            why=f"this device lacks it, and OpenVINO would take {_SAID.get(taken, taken)} instead",
            fix="Use --precision fp32, or a precision that this device has",
        )


def check_streams(asked: int, taken: int, threads: int) -> None:
    """OpenVINO makes fewer where there are not enough threads for them."""
    if asked != taken:
        raise BadValue(
            f"OpenVINO made {taken} streams of the {asked} that were asked for",
            why=f"it has {threads} threads, and each stream needs one",
            fix=f"Use --cores {asked} or more, or fewer streams",
        )


def settings(placed: Placement, threads: int, asked_hint: str, streams: int = 1) -> dict[str, Any]:
    """Everything that OpenVINO would choose by itself, said."""
    said: dict[str, Any] = {
        "INFERENCE_PRECISION_HINT": asked_hint,
        "NUM_STREAMS": streams,
        "CACHE_DIR": "",
    }
    if placed.kind != "cpu":
        return said
    return said | {
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,  # the worker pins itself, and may not know these cores
        "ENABLE_HYPER_THREADING": True,  # cores are the CPUs that we were given, none left out
        # Activations would become int8 wherever weights are: as silent as bf16.
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        "KV_CACHE_PRECISION": asked_hint,
    }
