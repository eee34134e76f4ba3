"""``/api/v1/comparisons``."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response

from modeldyno.api.v1.paging import ListRequest, OfRuns
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.settings import apply_change, pairing_of
from modeldyno.api.v1.shape import json_response
from modeldyno.api.v1.summaries import join_json_members, make_field_copier, page_of_lines
from modeldyno.core.benchmarks import Comparison
from modeldyno.core.documents.comparisons import ComparisonDetailsDocument, ComparisonSummary
from modeldyno.core.documents.runnables import LatestRunSummary, NumbersOf
from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.requests.measuring import (
    EditComparisonRequest,
    ModelSideRequest,
    NewComparisonRequest,
    PairingRequest,
    SideRequest,
    comparison_request,
)
from modeldyno.core.runs import RunnableDetails
from modeldyno.core.specs import ComparisonSpec
from modeldyno.engines.run_names import side_names
from modeldyno.services import requests

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.services.runnables import ComparisonService
    from modeldyno.store.records.all import Records


class ListComparisonsRequest(ListRequest, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


def router(
    records: Records,
    comparisons: ComparisonService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/comparisons", tags=["comparisons"])

    def details(comparison_id: ComparisonId, status: int = 200, **headers: str) -> Response:
        body = _details_to_json(comparisons.details(comparison_id), archive.numbers_of)
        return json_response(body, status, **headers)

    def create(request: NewComparisonRequest) -> Comparison:
        made, _ = comparisons.add(
            ProjectId(request.project_id),
            _model_ids(request),
            request.name or "",
            partial(_make_spec, request),
            start=request.start,
        )
        return made

    def change(number: ComparisonId, request: EditComparisonRequest, sent: frozenset[str]) -> None:
        edited = _apply_changes(comparisons.get(number), request, sent)
        comparisons.change(
            number,
            name=request.name,
            model_ids=_model_ids(edited) if edited else None,
            make_spec=partial(_make_spec, edited) if edited else None,
        )

    def rows(request: ListComparisonsRequest) -> Response:
        page = comparisons.page(request.wanted())
        lines = (
            join_json_members(_row_values(row), summary=row.summary_json) for row in page.items
        )
        return page_of_lines(lines, page.next)

    RunnableRoutes("comparison", routes, comparisons, records, jobs, archive).add(
        KindRoutes(
            new=NewComparisonRequest,
            edit=EditComparisonRequest,
            query=ListComparisonsRequest,
            row=ComparisonSummary,
            details_document=ComparisonDetailsDocument,
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


def _make_spec(request: NewComparisonRequest, a: Model, b: Model) -> ComparisonSpec:
    return requests.make_comparison_of_sides(
        requests.make_side_spec(a.name, a.path, request.a),
        requests.make_side_spec(b.name, b.path, request.b),
        request,
    )


def _apply_changes(
    before: Comparison, change: EditComparisonRequest, sent: frozenset[str]
) -> NewComparisonRequest | None:
    """All of it with what was sent; None if that was no more than a name."""
    known = comparison_request(before.spec)
    sides = {
        "a": change.a or ModelSideRequest(**_request_values(known.a), model_id=before.a_model_id),
        "b": change.b or ModelSideRequest(**_request_values(known.b), model_id=before.b_model_id),
    }
    pairing = {name: value for name, value in _request_values(known).items() if name not in sides}
    request = NewComparisonRequest(project_id=before.project_id, **(pairing | sides))
    unsent = {name for name in sides if getattr(change, name) is None}
    return apply_change(request, change, sent - unsent - {"name"}, "comparison")


def _request_values(request: SideRequest | PairingRequest) -> dict[str, Any]:
    return {field.name: getattr(request, field.name) for field in fields(request)}


_alike = make_field_copier(ComparisonSummary, "summary", "sentence", "sentence_by_name")


def _row_values(comparison: Comparison) -> dict[str, Any]:
    return _alike(comparison) | {
        "sentence": comparison.sentence(),
        "sentence_by_name": comparison.sentence(side_names(comparison.spec)),
    }


def _details_to_json(details: RunnableDetails[Comparison], numbers_of: NumbersOf) -> bytes:
    """A ComparisonDetailsDocument."""
    comparison, (a_name, b_name) = details.runnable, details.model_names
    values = {
        **_row_values(comparison),
        "a_model_name": a_name,
        "b_model_name": b_name,
        "pairing": pairing_of(comparison.spec),
        "latest_run": LatestRunSummary.of(details.latest, numbers_of),
        "command": comparison.spec.command(details.model_names),
    }
    return join_json_members(values, summary=comparison.summary_json)
