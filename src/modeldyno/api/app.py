"""The server's application: the guard outermost, then what holds for all routes, then these."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from modeldyno.api import openapi, pages, workbench_pages
from modeldyno.api.access import Access
from modeldyno.api.answers import Answers
from modeldyno.api.bodies import JsonBodies
from modeldyno.api.errors import BUG, Refusal, Refused, body_of, misunderstood, refusal_of
from modeldyno.api.events import PATIENCE, EventSockets, Patience
from modeldyno.api.guard import CLIENT_POLICY, PAGE_POLICY, App, Guard, Rules
from modeldyno.api.head import surface_of
from modeldyno.api.inc import gui
from modeldyno.api.inc import operations as inc
from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.inc.surface import operations_of
from modeldyno.api.listening import Listening
from modeldyno.api.methods import Methods
from modeldyno.api.schemas import with_documents
from modeldyno.api.v1 import (
    benchmark_by_name,
    benchmarks,
    comparisons,
    conversions,
    datasets,
    demo,
    distributions,
    engines,
    events,
    examples,
    files,
    graphs,
    inferences,
    jobs,
    judgements,
    models,
    notes,
    optimizations,
    profiles,
    projects,
    queue,
    runs,
    session,
    standings,
    system,
)
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.versions import tool_version
from modeldyno.store.web_client import WebClient
from modeldyno.store.workbench_page import WorkbenchPage

if TYPE_CHECKING:
    from modeldyno.workbench import Lifetime, Server

logger = logging.getLogger(__name__)

PREFIX = "/api/v1"
# Whose bodies are files, as they come. All others are JSON.
UPLOADS = re.compile(r"POST /api/v1/projects/\d+/models|PUT /api/v1/models/\d+/files/.+")
DESCRIPTION = """Measure models, keep the numbers, compare them. Lengths of time are in milliseconds
(`_ms`) or seconds (`_s`), moments in UTC (ISO 8601)."""


def application(
    server: Server, listening: Listening, access: Access, patience: Patience = PATIENCE
) -> App:
    """What uvicorn serves; nothing of it works before its lifespan began."""
    policy = PAGE_POLICY if server.settings.inc_gui is None else CLIENT_POLICY
    rules = Rules(listening.hosts, listening.origins, UPLOADS, page_policy=policy)
    activity, assets = server.activity, server.assets
    feed = (activity.feed, activity.progress, assets.fetches, assets.conversions)
    events = EventSockets(*feed, server.records.events, access, listening.origins, patience)
    routes = Answers(routed(server, listening, access, events), server.records.database)
    return Guard(events.around(routes), rules, access)


def routers_of(server: Server) -> list[APIRouter]:
    """Those of ``/api/v1``; each takes the services it uses."""
    records, archive = server.records, server.archive
    assets, kinds, results = server.assets, server.kinds, server.results
    return [
        projects.router(records, assets.projects, results.exports, archive),
        demo.router(records, server.scenarios.demo),
        standings.router(results.standings),
        models.router(records, assets.models, assets.files, archive),
        graphs.router(assets.models),
        inferences.router(assets.inferences),
        conversions.router(assets.conversions),
        examples.router(assets.examples, assets.fetches),
        files.router(assets.files),
        datasets.router(records, archive),
        benchmarks.router(records, kinds.benchmarks, server.jobs, archive),
        benchmark_by_name.router(server.scenarios.by_name, server.activity.ends),
        comparisons.router(records, kinds.comparisons, server.jobs, archive),
        judgements.router(results.judgements),
        optimizations.router(records, kinds.optimizations, server.jobs, archive),
        profiles.router(records, kinds.profiles, results.exports, server.jobs, archive),
        runs.router(records.runs, results.exports, archive),
        distributions.router(results.distributions),
        jobs.router(server.jobs),
        queue.router(server.jobs),
        notes.router(records.notes),
        events.router(records.events),
        engines.router(),
        system.router(server.system),
    ]


def routed(server: Server, listening: Listening, access: Access, events: EventSockets) -> App:
    """The routes and what holds for all of them, without their guard; ``events`` live as long."""
    announcer = Announcer(server.records, server.activity.feed, events.broadcast)
    app = FastAPI(
        title="Modeldyno",
        version=tool_version(),
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # its page loads scripts from elsewhere; ours is docs_page.py
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=_lifespan(server.lifetime, events, announcer),
    )
    described: list[openapi.Json] = []

    def describe() -> openapi.Json:
        if not described:
            described.append(with_documents(openapi.document(app)))
        return described[0]

    app.openapi = describe  # type: ignore[method-assign]  # how FastAPI wants it done
    routers = [*routers_of(server), session.router(listening, access)]
    workbench = WorkbenchPage()
    folder = server.settings.inc_gui
    page = pages.router(
        server.records.projects, listening, access, describe, workbench, has_home=folder is None
    )
    if folder is None:  # else that client has every address
        page.include_router(workbench_pages.router(workbench, listening, access))
    # Last, for it answers whatever nobody else does; and in place of our own first page.
    client = gui.router(WebClient.read(folder), listening, access) if folder else APIRouter()
    for router in routers:
        app.include_router(router, prefix=PREFIX)
    app.include_router(page, include_in_schema=False)
    operations = operations_of(server, events.broadcast, announcer)
    app.include_router(inc.router(operations), include_in_schema=False)
    app.include_router(client, include_in_schema=False)
    for kind, handler in (
        (ModeldynoError, _told),
        (Refused, _as_told),
        (RequestValidationError, _misunderstood),
        (HTTPException, _refused),
        (Exception, _failed),
    ):
        app.add_exception_handler(kind, handler)
    known = [
        *_addresses(page),
        *_addresses(client),
        *inc.addresses(operations),
        *(one for router in routers for one in _addresses(router, PREFIX)),
    ]
    methods = Methods(JsonBodies(app, UPLOADS), [*known, (f"{PREFIX}/openapi.json", ("GET",))])
    app.state.methods = methods
    return methods


def _addresses(router: APIRouter, prefix: str = "") -> list[tuple[str, set[str]]]:
    return [
        (prefix + route.path, set(route.methods or ()))
        for route in router.routes
        if isinstance(route, APIRoute)
    ]


def _lifespan(
    lifetime: Lifetime, events: EventSockets, announcer: Announcer
) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with events.running():
            try:
                with announcer.running():
                    lifetime.start()
                    yield
            finally:
                lifetime.close()

    return lifespan


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, ModeldynoError)
    refusal = refusal_of(error)
    if refusal.status >= 500:
        logger.error("%s %s: %s", request.method, request.url.path, error)
    return _response(request, refusal)


async def _as_told(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _response(request, error.refusal)


async def _misunderstood(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _response(request, misunderstood(error.errors()[0]))


async def _refused(request: Request, error: Exception) -> Response:
    """What the router itself refuses: no such path, no such method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return _response(request, request.app.state.methods.refusal(request.url.path))
    if error.status_code == 404:
        return _response(request, NOWHERE)
    why, said = str(error.detail), error.headers or {}
    headers = tuple((name.lower().encode(), value.encode()) for name, value in said.items())
    refusal = Refusal(error.status_code, "BAD_VALUE", "Refused", why, _SEE, headers)
    return _response(request, refusal)


async def _failed(request: Request, error: Exception) -> Response:
    """Our bug. It is raised on after this, and logged with its traceback."""
    return _response(request, BUG)


_SEE = "See /docs for what there is"
NOWHERE = Refusal(404, "NOT_FOUND", "There is nothing at this address", "", _SEE)


def _response(request: Request, refusal: Refusal) -> Response:
    status, headers, body = body_of(refusal, surface_of(request.url.path))
    response = Response(body, status)
    response.raw_headers = list(headers)
    return response
