"""``/api/v1/judgements``: two benchmarks that were measured, held against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from modeldyno.api.v1.paging import queried, query_parameters
from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.benchmarks import JudgementDocument
from modeldyno.core.ids import BenchmarkId
from modeldyno.core.judgements import Picked

if TYPE_CHECKING:
    from modeldyno.services.judgements import JudgementService

Pick = Annotated[
    str,
    Field(
        pattern=r"^[1-9][0-9]{0,8}(:[0-9]{1,4})?$",
        description="A benchmark, `12`, or one of its cells, `12:0`.",
        examples=["12", "12:0"],
    ),
]


class JudgementRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: Pick
    b: Pick


def router(judgements: JudgementService) -> APIRouter:
    routes = APIRouter(prefix="/judgements", tags=["benchmarks"])

    @routes.get(
        "", **gives(JudgementDocument, 404), openapi_extra=query_parameters(JudgementRequest)
    )
    def judge_benchmarks(
        request: Annotated[JudgementRequest, queried(JudgementRequest)],
    ) -> Response:
        """Which of two benchmarks is quicker, cell by cell, with the interval of the ratio and all
        settings side by side. Nothing is measured and nothing is kept."""
        judgement = judgements.judge(_parse_picked(request.a), _parse_picked(request.b))
        return answer(JudgementDocument.of(judgement))

    return routes


def _parse_picked(said: str) -> Picked:
    number, _, cell = said.partition(":")
    return Picked(BenchmarkId(int(number)), int(cell) if cell else None)
