"""Which execution providers of ONNX Runtime serve a device, and whether this build has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from modeldyno.core.errors import BadValue, EngineUnavailable

CPU = "CPUExecutionProvider"
_PROVIDERS = {
    "cpu": CPU,
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
}
_HELP = {
    "cuda": "pip install onnxruntime-gpu, on a machine with an NVIDIA GPU",
    "tensorrt": "pip install onnxruntime-gpu tensorrt, on a machine with an NVIDIA GPU",
    "coreml": "use ONNX Runtime's package for macOS",
}
DEVICES = tuple(_PROVIDERS)


@dataclass(frozen=True)
class OnnxDevice:
    """One of our devices in ONNX Runtime's terms."""

    kind: str  # "cuda"
    index: int

    @property
    def provider(self) -> str:
        return _PROVIDERS[self.kind]

    @property
    def name(self) -> str:
        """``cpu``, ``cuda:0``; a device that is the only one of its kind has no number."""
        return f"{self.kind}:{self.index}" if self.has_index else self.kind

    @property
    def has_index(self) -> bool:
        return self.kind in ("cuda", "tensorrt")

    @property
    def memory(self) -> str:
        """Where bound tensors are kept, as OrtValue calls it."""
        return "cuda" if self.has_index else "cpu"

    def provider_chain(self) -> list[Any]:
        """In order of preference: nodes that one provider cannot run go to the next."""
        options = {"device_id": self.index}
        chain: list[Any] = [(self.provider, options) if self.has_index else self.provider]
        if self.kind == "tensorrt":
            chain.append((_PROVIDERS["cuda"], options))
        return chain if self.kind == "cpu" else [*chain, CPU]


def find_device(name: str, available: Sequence[str]) -> OnnxDevice:
    """``available`` are the providers of this build. Raises BadValue for a device that we do not
    know, EngineUnavailable for one that this build lacks."""
    kind, colon, index = name.partition(":")
    device = OnnxDevice(kind, int(index) if index.isdigit() else 0)
    if kind not in _PROVIDERS or (colon and not (device.has_index and index.isdigit())):
        raise BadValue(
            f"ONNX Runtime has no device {name!r}",
            fix="Use cpu, cuda, cuda:1, tensorrt or coreml",
        )
    if device.provider not in available:
        raise EngineUnavailable(
            f"ONNX Runtime cannot use device {name!r} here",
            why=f"this build has {', '.join(sorted(available))}, but no {device.provider}",
            fix=f"Use --device cpu, or {_HELP.get(kind, 'another build')}",
        )
    return device


def require_provider(device: OnnxDevice, providers: Sequence[str]) -> None:
    """ONNX Runtime falls back on the CPU if a provider does not start; we raise instead."""
    if device.provider not in providers:
        raise EngineUnavailable(
            f"ONNX Runtime could not start {device.provider}",
            why=f"it fell back on {', '.join(providers)}; its libraries or driver may be missing",
            fix="See ONNX Runtime's messages in the run's log, or use --device cpu",
        )
