"""Which execution providers of ONNX Runtime a device means, and whether this build has them."""

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
class Placement:
    """A device of ours in ONNX Runtime's words."""

    kind: str  # "cuda"
    index: int

    @property
    def provider(self) -> str:
        return _PROVIDERS[self.kind]

    @property
    def device(self) -> str:
        """``cpu``, ``cuda:0``; the only one of its kind has no number."""
        return f"{self.kind}:{self.index}" if self.has_index else self.kind

    @property
    def has_index(self) -> bool:
        return self.kind in ("cuda", "tensorrt")

    @property
    def memory(self) -> str:
        """Where bound tensors lie, as OrtValue calls it."""
        return "cuda" if self.has_index else "cpu"

    def wanted(self) -> list[Any]:
        """In order of preference: what a GPU cannot run, the next one does."""
        options = {"device_id": self.index}
        chain: list[Any] = [(self.provider, options) if self.has_index else self.provider]
        if self.kind == "tensorrt":
            chain.append((_PROVIDERS["cuda"], options))
        return chain if self.kind == "cpu" else [*chain, CPU]


def placement(device: str, available: Sequence[str]) -> Placement:
    """Raises BadValue for a device that we do not know, EngineUnavailable for one not here."""
    kind, colon, index = device.partition(":")
    found = Placement(kind, int(index) if index.isdigit() else 0)
    if kind not in _PROVIDERS or (colon and not (found.has_index and index.isdigit())):
        raise BadValue(
            f"ONNX Runtime has no device {device!r} that we know",
            fix="Use cpu, cuda, cuda:1, tensorrt or coreml",
        )
    if found.provider not in available:
        raise EngineUnavailable(
            f"ONNX Runtime cannot use device {device!r} here",
            why=f"this build has {', '.join(sorted(available))}, but no {found.provider}",
            fix=f"Use --device cpu, or {_HELP.get(kind, 'another build')}",
        )
    return found


def check_taken(asked: Placement, taken: Sequence[str]) -> None:
    """ONNX Runtime goes on with the CPU when a provider does not start; we do not."""
    if asked.provider not in taken:
        raise EngineUnavailable(
            f"ONNX Runtime could not start {asked.provider}",
            why=f"it fell back on {', '.join(taken)}; its libraries or driver may be missing",
            fix="The run's log has ONNX Runtime's own words; or use --device cpu",
        )
