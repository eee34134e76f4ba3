"""A model that was converted, and how close it came to its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.conversions import Check, ConversionResult, ConversionState, Goal, Possibility
from modeldyno.core.documents.described import Amount, Count, Described, Size
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.models import ModelDocument


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
        source, model = ModelDocument.of(result.source), ModelDocument.of(result.model)
        return cls.from_fields(result, source=source, model=model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionJobDocument(Described):
    """A conversion on a server: how far it is, or what became of it."""

    id: Size
    """Its number, for as long as this server runs."""
    project_id: Size
    """Number of the project."""
    model_id: Size
    """What it is made of."""
    to: Goal
    """The requested format."""
    state: ConversionState
    """Whether it is over."""
    doing: str
    """The step it is at."""
    steps_done: Count
    """So far."""
    steps_planned: Count
    """0 as long as it has not begun."""
    made_id: Size | None
    """The new model, in the same project."""
    checks: tuple[Check, ...]
    """One for each input on which both were run."""
    notes: tuple[str, ...]
    """What somebody should know about it."""
    failure: FailureDocument | None
    """Why nothing came of it, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionsDocument(Described):
    """What a model can be converted to, and what was tried."""

    possible: tuple[Possibility, ...]
    """Every format, whether a conversion to it is possible or not."""
    conversions: tuple[ConversionJobDocument, ...]
    """Of this model, oldest first, as far as this server remembers."""
