"""A model that was converted, and how close it came to its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.conversions import Check, ConversionResult, Goal
from modeldyno.core.documents.described import Amount, Described
from modeldyno.core.documents.model import ModelDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionDocument(Described):
    """What `modeldyno convert --json` and `ConversionResult.to_json()` give."""

    schema: Literal["modeldyno.conversion/2"] = "modeldyno.conversion/2"
    """Name and version of this format."""
    to: Goal
    """The requested format."""
    source: ModelDocument
    """The model it was made of."""
    model: ModelDocument
    """The model that was made; `made` says of what and with what."""
    source_engine: str
    """Engine and version in which the source was run for the check."""
    engine: str
    """Engine and version in which the result was run."""
    checks: tuple[Check, ...]
    """One for each input on which both were run."""
    seconds: Amount
    """What it took, waiting for a core not counted."""
    notes: tuple[str, ...]
    """What somebody should know about it."""

    @classmethod
    def of(cls, result: ConversionResult) -> ConversionDocument:
        return cls(
            to=result.to,
            source=ModelDocument.of(result.source),
            model=ModelDocument.of(result.model),
            source_engine=result.source_engine,
            engine=result.engine,
            checks=result.checks,
            seconds=result.seconds,
            notes=result.notes,
        )
