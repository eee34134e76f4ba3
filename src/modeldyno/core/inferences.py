"""One inference, made to see whether a model works: no measurement, and no run is kept."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.models import TensorSpec
from modeldyno.core.sandbox import SandboxReport


@dataclass(frozen=True)
class InferenceResult:
    engine: str
    engine_version: str
    device: str
    precision: str | None
    batch_size: int  # as it really ran
    load_s: float
    first_call_s: float  # the very first, which may compile and allocate
    call_s: float  # the one after it
    inputs: tuple[TensorSpec, ...]  # as it was fed
    outputs: tuple[TensorSpec, ...]
    notes: tuple[str, ...] = ()  # what was guessed, and the like
    sandbox: SandboxReport | None = None
