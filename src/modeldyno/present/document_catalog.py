"""All documents by name, for whoever describes them; it loads them all."""

from __future__ import annotations

from typing import Any

from modeldyno.core.documents.benchmarks import BenchmarkDocument, JudgementDocument
from modeldyno.core.documents.comparisons import ComparisonDocument, RankingDocument
from modeldyno.core.documents.conversions import ConversionDocument
from modeldyno.core.documents.failures import ErrorDocument
from modeldyno.core.documents.figures import DistributionDocument
from modeldyno.core.documents.graphs import GraphDocument, ViewDocument
from modeldyno.core.documents.hosts import DoctorDocument, EnginesDocument
from modeldyno.core.documents.models import ModelDocument, TrustDocument
from modeldyno.core.documents.profiles import (
    AgreementDocument,
    ProfileDiffDocument,
    ProfileDocument,
)
from modeldyno.core.documents.reports import ReportDocument
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.documents.runs import (
    JobsDocument,
    PruneDocument,
    ReindexDocument,
    RemovedDocument,
    RunsDocument,
    UsageDocument,
)
from modeldyno.core.examples import ExamplesDocument
from modeldyno.core.notes import NoteDocument

# Parts of the server's answers that are in no document of the terminal.
PARTS: tuple[type[Any], ...] = (AgreementDocument, SummaryDocument)
DOCUMENTS: dict[str, type[Any]] = {
    "benchmark": BenchmarkDocument,
    "comparison": ComparisonDocument,
    "conversion": ConversionDocument,
    "distribution": DistributionDocument,
    "doctor": DoctorDocument,
    "engines": EnginesDocument,
    "error": ErrorDocument,
    "examples": ExamplesDocument,
    "graph": GraphDocument,
    "graph-view": ViewDocument,
    "jobs": JobsDocument,
    "judgement": JudgementDocument,
    "model": ModelDocument,
    "note": NoteDocument,
    "profile-diff": ProfileDiffDocument,
    "profile": ProfileDocument,
    "prune": PruneDocument,
    "ranking": RankingDocument,
    "reindex": ReindexDocument,
    "removed": RemovedDocument,
    "report": ReportDocument,
    "runs": RunsDocument,
    "trust": TrustDocument,
    "usage": UsageDocument,
}
