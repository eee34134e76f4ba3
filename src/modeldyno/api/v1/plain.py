"""Routes of kinds that are made of a model and settings, and show nothing of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.paging import ListAsked, OfRuns
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.runs import LatestRunTold, latest_of
from modeldyno.api.v1.settings import changed
from modeldyno.api.v1.shape import Moment, Told
from modeldyno.api.v1.summaries import SummaryPart, joined, json_response, page_of
from modeldyno.core.codec import encode
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.runnables import PlainRunnable, RunnableDetails
from modeldyno.core.runs import State
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


class PlainQuery(ListAsked, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


class PlainRowTold(Told):
    id: int
    project_id: int
    name: str
    model_id: int
    state: State
    created_at: Moment
    modified_at: Moment | None
    last_run_at: Moment | None
    rerun_of: int | None
    summary: SummaryPart


class PlainTold(PlainRowTold):
    model_name: str
    settings: dict[str, Any]
    latest_run: LatestRunTold | None
    command: str = Field(description="Does the same in a terminal; empty if nothing does.")


def router(records: Records, models: ModelService, jobs: JobService, archive: Archive) -> APIRouter:
    routes = APIRouter()
    for name, kind in KINDS.items():
        service: RunnableService[int, PlainRunnable] = RunnableService(records, models, jobs, name)
        routes.routes += _router(name, kind, service, records, jobs, archive).routes
    return routes


def _router(
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
        after = changed(kind.settings(service.get(number).spec), request, sent, name)
        make_spec = partial(kind.spec, after) if after else None
        service.change(number, name=request.name, make_spec=make_spec)

    def rows(query: PlainQuery) -> Response:
        page = service.page(query.wanted())
        lines = (joined(_row(row), summary=row.summary_json) for row in page.items)
        return page_of(lines, page.next)

    def details(number: int, status: int = 200, **headers: str) -> Response:
        body = _details(service.details(number), kind)
        return json_response(body, status, **headers)

    RunnableRoutes(name, routes, service, records, jobs, archive).add(
        KindRoutes(
            new=kind.new,
            edit=kind.edit,
            query=PlainQuery,
            row=PlainRowTold,
            shown=PlainTold,
            create=create,
            change=change,
            rows=rows,
            details=details,
            about="Its settings and its latest run.",
        )
    )
    return routes


def _row(runnable: PlainRunnable) -> dict[str, Any]:
    names = PlainRowTold.model_fields.keys() - {"summary"}
    return {name: getattr(runnable, name) for name in names}


def _details(found: RunnableDetails[PlainRunnable], kind: PlainKind) -> bytes:
    """As PlainTold describes."""
    spec = found.runnable.spec
    values = {
        **_row(found.runnable),
        "model_name": found.model_names[0],
        "settings": encode(kind.settings(spec)),
        "latest_run": latest_of(found.latest),
        "command": spec.command(found.model_names),
    }
    return joined(values, summary=found.runnable.summary_json)
