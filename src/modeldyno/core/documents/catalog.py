"""All documents by name, for whoever describes them; it loads them all."""

from __future__ import annotations

from typing import Any

from modeldyno.core.documents.benchmark import BenchmarkDocument
from modeldyno.core.documents.comparison import ComparisonDocument
from modeldyno.core.documents.failure import ErrorDocument
from modeldyno.core.documents.model import ModelDocument
from modeldyno.core.documents.reindex import ReindexDocument

DOCUMENTS: dict[str, type[Any]] = {
    "benchmark": BenchmarkDocument,
    "comparison": ComparisonDocument,
    "error": ErrorDocument,
    "model": ModelDocument,
    "reindex": ReindexDocument,
}
