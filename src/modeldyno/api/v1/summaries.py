"""The figures of a run that lists show, those of its cells, and failures: parts of many answers.

Routes refer to these documents by name; to build models of them would slow the server's start.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import WithJsonSchema

from modeldyno.api.schemas import reference
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.summary import CellSummary, SummaryDocument, failure_document

# Within ``allOf``: pydantic would look a bare reference up among its own models.
FailureTold = Annotated[dict[str, Any], WithJsonSchema({"allOf": [reference(FailureDocument)]})]
SummaryTold = Annotated[dict[str, Any], WithJsonSchema({"allOf": [reference(SummaryDocument)]})]
CellTold = Annotated[dict[str, Any], WithJsonSchema({"allOf": [reference(CellSummary)]})]

failure_of = failure_document
summary_of = SummaryDocument.of
outcome_of = CellSummary.of
cell_of = CellSummary.planned


def ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
