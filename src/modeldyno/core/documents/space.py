"""What the space of a workspace is used by, and what was removed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Count, Described, RunName

PartName = Literal[
    "runs", "samples", "models", "own models", "datasets", "environments", "caches", "database",
    "other",
]  # fmt: skip
Removable = Literal["runs", "samples", "caches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePartDocument(Described):
    """One of the things that a workspace holds."""

    name: PartName
    """What it is."""
    size_bytes: Count
    """On the disk; a file with several names counts once."""
    files: Count
    """How many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDocument(Described):
    """What `modeldyno du --json` gives."""

    schema: Literal["modeldyno.usage/1"] = "modeldyno.usage/1"
    """Name and version of this format."""
    workspace: str
    """Its path."""
    parts: tuple[UsagePartDocument, ...]
    """Each is in one part."""
    size_bytes: Count
    """Of all parts."""
    free_bytes: Count
    """Of the disk that the workspace is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedPartDocument(Described):
    """What goes of one sort."""

    name: Removable
    """What it is."""
    count: Count
    """Runs, runs whose samples go, or cached files and folders."""
    size_bytes: Count
    """What they use on the disk."""
    runs: tuple[RunName, ...]
    """Which; empty of caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDocument(Described):
    """What `modeldyno prune --json` gives."""

    schema: Literal["modeldyno.prune/1"] = "modeldyno.prune/1"
    """Name and version of this format."""
    is_dry_run: bool
    """Whether nothing was removed: this is what would be."""
    parts: tuple[PrunedPartDocument, ...]
    """What was requested, and what it comes to."""
    size_bytes: Count
    """Of all parts."""
