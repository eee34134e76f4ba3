"""Which cell a document is about: its axes, in the one file of documents that names them."""

from __future__ import annotations

from dataclasses import dataclass, field

from modeldyno.core.documents.described import Count, Described, Size
from modeldyno.core.documents.models import ModelDocument
from modeldyno.core.models import ModelFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHead(Described):
    """A cell of a benchmark."""

    number: Count
    """Its place among the cells of its benchmark, from 0."""
    name: str
    """What sets it apart, in words: `onnxruntime · 2 cores · batch 8`."""
    model: str
    """Path of its model: the same as in models[].path."""
    engine: str
    """Engine that ran it; empty when none was chosen yet."""
    device: str
    """Device it really used."""
    precision: str | None
    """Of its kernels, or else the one that was requested; null: unknown, or the model's own."""
    batch_size: Size
    """Items per call, as it really ran."""
    cores: Size
    """Cores requested."""
    instances: Size
    """Processes running side by side."""
    streams: Size
    """Requests that one call makes at the same time, inside the engine."""
    dims: dict[str, Size] = field(default_factory=dict)
    """Sizes of open dimensions that were requested, by name; input_shapes has all."""
    items: Size
    """Items per call in all its streams: what per-item figures are divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAxes(Described):
    """Of the cell that a list shows, or what all cells of a run share."""

    engine: str | None = None
    """Null before one was chosen, and where cells differ."""
    device: str | None = None
    """Device it really used."""
    precision: str | None = None
    """Of its kernels, or else the one that was requested."""
    batch_size: Size | None = None
    """Items per call, as it really ran."""
    cores: Size | None = None
    """Cores requested."""
    instances: Size | None = None
    """Processes running side by side."""
    streams: Size | None = None
    """Requests that one call makes at the same time, inside the engine."""
    dims: dict[str, Size] | None = None
    """Sizes of open dimensions that were requested, by name; null if none were, or cells differ."""
    items: Size = 1
    """Items per call in all its streams: what per-item figures are divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxesDocument(Described):
    """What cells differ in: each value once, as it ran where that is known."""

    engines: tuple[str, ...]
    """By name."""
    devices: tuple[str, ...]
    """By name."""
    precisions: tuple[str, ...]
    """By name."""
    batch_sizes: tuple[Size, ...]
    """Items per call."""
    cores: tuple[Size, ...]
    """CPU cores."""
    instances: tuple[Size, ...]
    """Processes side by side."""
    streams: tuple[Size, ...]
    """Requests at a time, inside the engine."""
    dims: dict[str, tuple[Size, ...]]
    """Sizes of open dimensions, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideHead(Described):
    """A side of a comparison."""

    label: str
    """As it was given, options included."""
    model: ModelDocument
    """What was measured."""
    engine: str
    """Engine that ran it."""
    device: str
    """Device it really used."""
    precision: str | None
    """Of the computing kernels; null when the engine does not tell."""
    batch_size: Size
    """Items per call, as it really ran."""
    streams: Size
    """Requests that one call makes at the same time, inside the engine."""
    cores: Size
    """Cores requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHead(Described):
    """A side of a ranking."""

    label: str
    """As it was requested."""
    place: Size | None
    """From 1; several may have the same. Null: it has none."""
    unranked: str | None
    """Why it has no place although it was measured."""
    engine: str | None
    """As it was loaded."""
    engine_version: str | None
    """As the engine reports it."""
    format: ModelFormat | None
    """Of the model file."""
    precision: str | None
    """In which it computes, read back."""
    cores: Size | None
    """CPUs it may use."""
    batch_size: Size | None
    """Items per call, as it ran."""
    streams: Size | None
    """Requests that one call makes at the same time, inside the engine."""
