"""All documents by name, for whoever describes them; it loads them all."""

from __future__ import annotations

from typing import Any

from modeldyno.core.documents.benchmark import BenchmarkDocument
from modeldyno.core.documents.comparison import ComparisonDocument
from modeldyno.core.documents.failure import ErrorDocument
from modeldyno.core.documents.model import ModelDocument
from modeldyno.core.documents.reindex import ReindexDocument
from modeldyno.core.documents.summary import CellSummary, SummaryDocument

# Parts of the server's answers that are in no document of the terminal.
PARTS: tuple[type[Any], ...] = (CellSummary, SummaryDocument)
DOCUMENTS: dict[str, type[Any]] = {
    "benchmark": BenchmarkDocument,
    "comparison": ComparisonDocument,
    "error": ErrorDocument,
    "model": ModelDocument,
    "reindex": ReindexDocument,
}
