"""All documents by name, for whoever describes them; it loads them all."""

from __future__ import annotations

from typing import Any

from modeldyno.core.documents.benchmark import BenchmarkDocument
from modeldyno.core.documents.comparison import ComparisonDocument
from modeldyno.core.documents.conversion import ConversionDocument
from modeldyno.core.documents.distribution import DistributionDocument
from modeldyno.core.documents.doctor import DoctorDocument
from modeldyno.core.documents.engines import EnginesDocument
from modeldyno.core.documents.examples import ExamplesDocument
from modeldyno.core.documents.failure import ErrorDocument
from modeldyno.core.documents.graph import GraphDocument, ViewDocument
from modeldyno.core.documents.jobs import JobsDocument
from modeldyno.core.documents.model import ModelDocument
from modeldyno.core.documents.note import NoteDocument
from modeldyno.core.documents.profile import AgreementDocument, ProfileDocument
from modeldyno.core.documents.profile_diff import ProfileDiffDocument
from modeldyno.core.documents.ranking import RankingDocument
from modeldyno.core.documents.reindex import ReindexDocument
from modeldyno.core.documents.removed import RemovedDocument
from modeldyno.core.documents.report import ReportDocument
from modeldyno.core.documents.runs import RunsDocument
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.documents.trust import TrustDocument

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
    "model": ModelDocument,
    "note": NoteDocument,
    "profile-diff": ProfileDiffDocument,
    "profile": ProfileDocument,
    "ranking": RankingDocument,
    "reindex": ReindexDocument,
    "removed": RemovedDocument,
    "report": ReportDocument,
    "runs": RunsDocument,
    "trust": TrustDocument,
}
