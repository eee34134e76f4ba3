"""Engines, and whether they can be used here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDocument(Described):
    """One engine and whether it can be used here."""

    name: str
    """As --engine takes it."""
    title: str
    """As its makers write it: ONNX Runtime."""
    color: int
    """Its place among the colours of charts, counted from 0; no two engines share one."""
    usable: bool
    """Whether its package is installed and its entry point loads."""
    version: str | None
    """Version of its package."""
    why_not: str | None
    """Why it is not usable; null when it is."""
    install: str
    """How to get it."""
    devices: tuple[str, ...]
    """Devices it can use here, as far as is known without loading it."""
    unavailable_devices: dict[str, str]
    """The others that it has, each with the reason why it cannot be used here."""
    device_notes: dict[str, str]
    """Of `devices`: what only a worker that loads the engine can find out."""
    formats: tuple[str, ...]
    """Model formats it reads."""
    has_streams: bool
    """Whether it can run several requests at a time: `streams` of a benchmark."""
    adapter: str
    """Which engine it is, where it goes by a name that its user gave it."""
    python: str | None
    """Version of the other Python that it lives in; null: Modeldyno's own."""
    origin: str
    """How it came there: what pip installed, or the path of its Python; empty for engines of
    Modeldyno's own environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginesDocument(Described):
    """What `modeldyno engines --json` gives."""

    schema: Literal["modeldyno.engines/1"] = "modeldyno.engines/1"
    """Name and version of this format."""
    engines: tuple[EngineDocument, ...]
    """Built-in engines first, then those that installed packages announce, then those that were
    added."""
