"""``/api/v1/comparisons``."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.paging import (
    ListAsked,
    OfRuns,
)
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.runs import LatestRunTold, latest_of
from modeldyno.api.v1.settings import PairingTold, changed, pairing_of
from modeldyno.api.v1.shape import Moment, Told
from modeldyno.api.v1.summaries import SummaryPart, joined, json_response, page_of
from modeldyno.core.comparisons import Comparison
from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.requests.measuring import PairingRequest, SideRequest, comparison_request
from modeldyno.core.requests.server import (
    EditComparisonRequest,
    ModelSideRequest,
    NewComparisonRequest,
)
from modeldyno.core.runnables import RunnableDetails
from modeldyno.core.runs import State
from modeldyno.core.specs import ComparisonSpec
from modeldyno.engines.run_names import side_names
from modeldyno.services import requests

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.comparisons import ComparisonService
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records


class ComparisonsAsked(ListAsked, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


class ComparisonRowTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    name: str = Field(examples=["old.onnx against new.onnx"])
    a_model_id: int = Field(examples=[1])
    b_model_id: int = Field(examples=[2])
    state: State = Field(description="Of its latest run; `draft` before the first.")
    created_at: Moment
    last_run_at: Moment | None
    rerun_of: int | None = Field(description="The comparison that this one repeats.")
    summary: SummaryPart
    sentence: str | None = Field(
        description="The verdict of its latest run; null before it has one.",
        examples=["B is 1.31× faster than A (1.24\u20131.38, 95 %)."],
    )
    sentence_by_name: str | None = Field(
        description="The same, with both sides by what tells them apart.",
        examples=["OpenVINO is 1.31× faster than ONNX Runtime (1.24\u20131.38, 95 %)."],
    )


class ComparisonTold(ComparisonRowTold):
    a_model_name: str = Field(examples=["old.onnx"])
    b_model_name: str = Field(examples=["new.onnx"])
    pairing: PairingTold
    latest_run: LatestRunTold | None
    command: str = Field(
        description="Compares the same in a terminal.",
        examples=["modeldyno compare old.onnx new.onnx"],
    )


def router(
    records: Records,
    comparisons: ComparisonService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/comparisons", tags=["comparisons"])

    def details(comparison_id: ComparisonId, status: int = 200, **headers: str) -> Response:
        return json_response(_details(comparisons.details(comparison_id)), status, **headers)

    def create(asked: NewComparisonRequest) -> Comparison:
        made, _ = comparisons.add(
            ProjectId(asked.project_id),
            _model_ids(asked),
            asked.name or "",
            partial(_spec, asked),
            start=asked.start,
        )
        return made

    def change(number: ComparisonId, asked: EditComparisonRequest, sent: frozenset[str]) -> None:
        edited = _edited(comparisons.get(number), asked, sent)
        comparisons.change(
            number,
            name=asked.name,
            model_ids=_model_ids(edited) if edited else None,
            make_spec=partial(_spec, edited) if edited else None,
        )

    def rows(asked: ComparisonsAsked) -> Response:
        page = comparisons.page(asked.wanted())
        lines = (joined(_row(row), summary=row.summary_json) for row in page.items)
        return page_of(lines, page.next)

    RunnableRoutes("comparison", routes, comparisons, records, jobs, archive).add(
        KindRoutes(
            new=NewComparisonRequest,
            edit=EditComparisonRequest,
            query=ComparisonsAsked,
            row=ComparisonRowTold,
            shown=ComparisonTold,
            create=create,
            change=change,
            rows=rows,
            details=details,
            about="Its two sides, its latest run, and the verdict.",
        )
    )
    return routes


def _model_ids(request: NewComparisonRequest) -> list[ModelId]:
    return [ModelId(request.a.model_id), ModelId(request.b.model_id)]


def _spec(request: NewComparisonRequest, a: Model, b: Model) -> ComparisonSpec:
    return requests.comparison_between(
        requests.side_spec(a.name, a.path, request.a),
        requests.side_spec(b.name, b.path, request.b),
        request,
    )


def _edited(
    before: Comparison, change: EditComparisonRequest, sent: frozenset[str]
) -> NewComparisonRequest | None:
    """All of it with what was sent; None if that was no more than a name."""
    known = comparison_request(before.spec)
    sides = {
        "a": change.a or ModelSideRequest(**_values(known.a), model_id=before.a_model_id),
        "b": change.b or ModelSideRequest(**_values(known.b), model_id=before.b_model_id),
    }
    pairing = {name: value for name, value in _values(known).items() if name not in sides}
    request = NewComparisonRequest(project_id=before.project_id, **(pairing | sides))
    unsent = {name for name in sides if getattr(change, name) is None}
    return changed(request, change, sent - unsent - {"name"}, "comparison")


def _values(request: SideRequest | PairingRequest) -> dict[str, Any]:
    return {field.name: getattr(request, field.name) for field in fields(request)}


def _row(found: Comparison) -> dict[str, Any]:
    return {
        "id": found.id,
        "project_id": found.project_id,
        "name": found.name,
        "a_model_id": found.a_model_id,
        "b_model_id": found.b_model_id,
        "state": found.state,
        "created_at": found.created_at,
        "last_run_at": found.last_run_at,
        "rerun_of": found.rerun_of,
        "sentence": found.sentence(),
        "sentence_by_name": found.sentence(side_names(found.spec)),
    }


def _details(found: RunnableDetails[Comparison]) -> bytes:
    """As ComparisonTold describes."""
    comparison, (a_name, b_name) = found.runnable, found.model_names
    values = {
        **_row(comparison),
        "a_model_name": a_name,
        "b_model_name": b_name,
        "pairing": pairing_of(comparison.spec),
        "latest_run": latest_of(found.latest),
        "command": comparison.spec.command(found.model_names),
    }
    return joined(values, summary=comparison.summary_json)
