"""Runs as a server keeps them: lines of lists, and all that is known of one."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.documents.artifact import ArtifactDocument
from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.comparisons import PairingDocument
from modeldyno.core.documents.described import Count, Size
from modeldyno.core.documents.runnables import RunTimes
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.requests.measuring import BenchmarkRequest, ProfileRequest
from modeldyno.core.runs import RunKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(RunTimes):
    """A line of a list of runs."""

    kind: RunKind
    """What was run."""
    of_id: Size
    """Number of the benchmark, comparison and so on."""
    project_id: Size
    """Number of its project."""
    tool_version: str | None
    """Version of Modeldyno that ran it."""
    machine: str | None
    """That measured it; null before there is a result, and of old runs."""
    summary: SummaryDocument
    """Of its best cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetailsDocument(RunSummary):
    """A run: how it went, what was requested, and how much of it is kept."""

    job_id: Size | None
    """Null of a run of the terminal."""
    cells: tuple[CellDocument, ...]
    """Empty until it has ended, and of a comparison."""
    settings: BenchmarkRequest | None
    """Of a benchmark, as requested."""
    pairing: PairingDocument | None
    """Of a comparison, as requested."""
    profiling: ProfileRequest | None
    """Of a profile, as requested."""
    units_kept: tuple[Count, ...]
    """Sessions of each cell, pairs, or repeats, that are safe on the disk; what was stopped goes on
    from there."""
    has_result: bool
    """Whether there is something to export."""
    artifacts: tuple[ArtifactDocument, ...]
    """Files that it left."""
