"""Results of any kind, and all of a project's together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.benchmark import BenchmarkDocument
from modeldyno.core.documents.comparison import ComparisonDocument
from modeldyno.core.documents.described import Described
from modeldyno.core.documents.profile import ProfileDocument
from modeldyno.core.results import RunResult
from modeldyno.core.roofline import PeaksOf

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
