"""Results and runs of any kind, as a server gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.benchmarks import BenchmarkDocument
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.comparisons import ComparisonDocument, PairingDocument
from modeldyno.core.documents.described import Count, Described, Size
from modeldyno.core.documents.profiles import ProfileDocument
from modeldyno.core.documents.runnables import RunTimes, SummaryDocument
from modeldyno.core.documents.runs import ArtifactDocument
from modeldyno.core.requests.measuring import BenchmarkRequest, ProfileRequest
from modeldyno.core.results import RunResult
from modeldyno.core.roofline import PeaksOf
from modeldyno.core.runs import RunKind

ResultDocument = BenchmarkDocument | ComparisonDocument | ProfileDocument


@dataclass(frozen=True)
class Report:
    title: str
    results: tuple[RunResult, ...]
    missing: tuple[str, ...] = ()  # what has no result, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument(Described):
    """What `GET /api/v1/projects/{project_id}/report?format=json` gives."""

    schema: Literal["modeldyno.report/1"] = "modeldyno.report/1"
    """Name and version of this format."""
    title: str
    """The project's name."""
    results: tuple[ResultDocument, ...]
    """Of benchmarks, then comparisons, then profiles: the latest each."""
    missing: tuple[str, ...]
    """What ran and has no result, and why."""

    @classmethod
    def of(cls, report: Report, peaks_of: PeaksOf) -> ReportDocument:
        return cls(
            title=report.title,
            results=tuple(result.document(peaks_of) for result in report.results),
            missing=report.missing,
        )


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
    """Empty until its model was read, and of a comparison; without figures until it has ended."""
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
