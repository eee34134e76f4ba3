"""A model that was let run once."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.documents.described import Amount, Described, Size
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.redaction import without_folders
from modeldyno.core.sessions import InferenceResult


@dataclass(frozen=True, slots=True, kw_only=True)
class FedTensorDocument(Described):
    """An input as it was fed, or an output as it came."""

    name: str
    """The tensor's name."""
    dtype: str
    """Element type by NumPy's name."""
    shape: tuple[int, ...] | None
    """Null of a list or a map of tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceDocument(Described):
    """How it went."""

    engine: str
    """By name."""
    engine_version: str
    """Of its package."""
    device: str
    """That it ran on."""
    precision: str | None
    """Of its kernels; null if the engine does not say."""
    batch_size: Size
    """As it ran."""
    load_ms: Amount
    """Until the model was loaded."""
    first_ms: Amount
    """The very first call, which may compile and allocate."""
    ms: Amount
    """The call after it: no measurement."""
    inputs: tuple[FedTensorDocument, ...]
    """As it was fed."""
    outputs: tuple[FedTensorDocument, ...]
    """As they came."""
    notes: tuple[str, ...]
    """What was guessed, and the like."""

    @classmethod
    def of(cls, result: InferenceResult) -> InferenceDocument:
        return cls.from_fields(
            result,
            load_ms=result.load_s * 1e3,
            first_ms=result.first_call_s * 1e3,
            ms=result.call_s * 1e3,
            inputs=tuple(map(FedTensorDocument.from_fields, result.inputs)),
            outputs=tuple(map(FedTensorDocument.from_fields, result.outputs)),
            notes=tuple(map(without_folders, result.notes)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDocument(Described):
    """An attempt to run a model once: exactly one of the two."""

    inference: InferenceDocument | None = None
    """How it went."""
    failure: FailureDocument | None = None
    """Why it did not work, and what to do."""
