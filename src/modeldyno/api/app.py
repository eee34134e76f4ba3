"""The server's application: the guard outermost, then what holds for all routes, then these."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from modeldyno.api import openapi, pages, workbench_pages
from modeldyno.api.access import Access
from modeldyno.api.answers import Answers
from modeldyno.api.events import PATIENCE, EventSockets, Patience
from modeldyno.api.guard import CLIENT_POLICY, PAGE_POLICY, App, Guard, Rules
from modeldyno.api.inc import gui
from modeldyno.api.inc import operations as inc
from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.inc.surface import operations_of
from modeldyno.api.listening import Listening
from modeldyno.api.routing import Routes, routes_of
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
    plain,
    profiles,
    projects,
    queue,
    runs,
    session,
    standings,
    system,
)
from modeldyno.store.web_client import WebClient
from modeldyno.store.workbench_page import WorkbenchPage

if TYPE_CHECKING:
    from modeldyno.workbench import Lifetime, Server

PREFIX = "/api/v1"
# Whose bodies are files, as they come. All others are JSON.
UPLOADS = re.compile(r"POST /api/v1/projects/\d+/models|PUT /api/v1/models/\d+/files/.+")


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
        *plain.routers(records, assets.models, server.jobs, archive),
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
    described = [
        route
        for router in (*routers_of(server), session.router(listening, access))
        for route in routes_of(router, PREFIX)
    ]

    @cache
    def describe() -> openapi.Json:
        return with_documents(openapi.document(described))

    folder = server.settings.inc_gui
    workbench = WorkbenchPage()
    operations = operations_of(server, events.broadcast, announcer)
    routers = [
        openapi.router(f"{PREFIX}/openapi.json", describe),
        pages.router(
            server.records.projects, listening, access, describe, workbench, has_home=folder is None
        ),
        # With the client of INC Bench, that has every address that nobody else has.
        gui.router(WebClient.read(folder), listening, access)
        if folder
        else workbench_pages.router(workbench, listening, access),
    ]
    (operate,) = routes_of(inc.router(operations))
    others = [route for router in routers for route in routes_of(router)]
    aliases = dict.fromkeys(inc.addresses(operations), operate)
    lifespan = _lifespan(server.lifetime, events, announcer)
    return Routes([*described, operate, *others], aliases, UPLOADS, lifespan)


def _lifespan(
    lifetime: Lifetime, events: EventSockets, announcer: Announcer
) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with events.running():
            try:
                with announcer.running():
                    lifetime.start()
                    yield
            finally:
                lifetime.close()

    return lifespan
