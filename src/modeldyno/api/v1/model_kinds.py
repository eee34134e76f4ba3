"""Routes of kinds that are made of a model and settings, and show nothing of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response

from modeldyno.api.v1.paging import ListRequest, OfRuns
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.settings import apply_change
from modeldyno.api.v1.shape import json_response
from modeldyno.api.v1.summaries import join_json_members, make_field_copier, page_of_lines
from modeldyno.core.codec import encode
from modeldyno.core.documents.runnables import (
    LatestRunSummary,
    NumbersOf,
    RunnableDocument,
    RunnableSummary,
)
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.runs import PlainRunnable, RunnableDetails
from modeldyno.core.specs import RunSpec
from modeldyno.services.runnables import RunnableService

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.services.models import ModelService
    from modeldyno.store.records.all import Records


@dataclass(frozen=True, kw_only=True)
class PlainKind:
    """Requests to specs, and back."""

    new: type[Any]  # has ``project_id``, ``model_id``, ``name``, ``start`` and settings
    edit: type[Any]  # has ``name`` and settings
    spec: Callable[[Any, Model], RunSpec]  # of settings
    settings: Callable[[Any], Any]  # of a spec


# By kind. None of ours is as plain as that.
KINDS: dict[str, PlainKind] = {}


class PlainQuery(ListRequest, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


def router(records: Records, models: ModelService, jobs: JobService, archive: Archive) -> APIRouter:
    routes = APIRouter()
    for name, kind in KINDS.items():
        service: RunnableService[int, PlainRunnable] = RunnableService(records, models, jobs, name)
        routes.routes += _make_router(name, kind, service, records, jobs, archive).routes
    return routes


def _make_router(
    name: str,
    kind: PlainKind,
    service: RunnableService[int, PlainRunnable],
    records: Records,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix=f"/{name}s", tags=[f"{name}s"])

    def create(request: Any) -> PlainRunnable:
        made, _ = service.add(
            ProjectId(request.project_id),
            [ModelId(request.model_id)],
            request.name or "",
            partial(kind.spec, request),
            start=request.start,
        )
        return made

    def change(number: int, request: Any, sent: frozenset[str]) -> None:
        after = apply_change(kind.settings(service.get(number).spec), request, sent, name)
        make_spec = partial(kind.spec, after) if after else None
        service.change(number, name=request.name, make_spec=make_spec)

    def rows(query: PlainQuery) -> Response:
        page = service.page(query.wanted())
        lines = (join_json_members(_row(row), summary=row.summary_json) for row in page.items)
        return page_of_lines(lines, page.next)

    def details(number: int, status: int = 200, **headers: str) -> Response:
        body = _details_to_json(service.details(number), kind, archive.numbers_of)
        return json_response(body, status, **headers)

    RunnableRoutes(name, routes, service, records, jobs, archive).add(
        KindRoutes(
            new=kind.new,
            edit=kind.edit,
            query=PlainQuery,
            row=RunnableSummary,
            details_document=RunnableDocument,
            create=create,
            change=change,
            rows=rows,
            details=details,
            about="Its settings and its latest run.",
        )
    )
    return routes


_row = make_field_copier(RunnableSummary, "summary")


def _details_to_json(
    details: RunnableDetails[PlainRunnable], kind: PlainKind, numbers_of: NumbersOf
) -> bytes:
    """A RunnableDocument."""
    spec = details.runnable.spec
    values = {
        **_row(details.runnable),
        "model_name": details.model_names[0],
        "settings": encode(kind.settings(spec)),
        "latest_run": LatestRunSummary.of(details.latest, numbers_of),
        "command": spec.command(details.model_names),
    }
    return join_json_members(values, summary=details.runnable.summary_json)
