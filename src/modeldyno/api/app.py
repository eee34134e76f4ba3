"""The server's application: the guard outermost, then what holds for all routes, then these."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from modeldyno.api import openapi, pages, v1, workbench_pages
from modeldyno.api.access import Access
from modeldyno.api.cached_answers import Answers
from modeldyno.api.events import PATIENCE, EventSockets, Patience
from modeldyno.api.guard import CLIENT_POLICY, PAGE_POLICY, App, Guard, Rules
from modeldyno.api.inc import gui
from modeldyno.api.inc import operations as inc
from modeldyno.api.inc.all_operations import operations_of
from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.routing import PREFIX, RouteGroup, Routes, routes_of
from modeldyno.api.schemas import add_document_schemas
from modeldyno.api.server_address import Listening
from modeldyno.core.kinds import kept_kinds
from modeldyno.core.notes import subject_kinds
from modeldyno.store.web_client import WebClient
from modeldyno.store.workbench_page import WorkbenchPage

if TYPE_CHECKING:
    from modeldyno.server import Lifetime, Server

# Whose bodies are files, as they come. All others are JSON.
UPLOADS = re.compile(r"POST /api/v1/projects/\d+/models|PUT /api/v1/models/\d+/files/.+")


def make_application(
    server: Server, listening: Listening, access: Access, patience: Patience = PATIENCE
) -> App:
    """What uvicorn serves; nothing of it works before its lifespan began."""
    policy = PAGE_POLICY if server.settings.inc_gui is None else CLIENT_POLICY
    rules = Rules(listening.hosts, listening.origins, UPLOADS, page_policy=policy)
    feed = (server.feed, server.progress, server.example_fetches, server.conversions)
    events = EventSockets(*feed, server.records.events, access, listening.origins, patience)
    routes = Answers(make_routed_app(server, listening, access, events), server.records.database)
    return Guard(events.serve_sockets_and(routes), rules, access)


def make_route_groups(server: Server, listening: Listening, access: Access) -> list[RouteGroup]:
    """The routes of ``/api/v1``, by what follows that in their addresses. Each router takes the
    services it uses."""
    records, archive, queue = server.records, server.archive, server.jobs
    return [
        RouteGroup(nouns.split(), build)
        for nouns, build in (
            (
                "projects",
                lambda: v1.projects.router(records, server.projects, server.exports, archive),
            ),
            ("demo", lambda: v1.demo.router(records, server.demo)),
            ("projects", lambda: v1.standings.router(server.project_overviews)),
            (
                "models projects",
                lambda: v1.models.router(records, server.models, server.model_files, archive),
            ),
            ("models", lambda: v1.graphs.router(server.models)),
            ("models", lambda: v1.inferences.router(server.inferences)),
            ("conversions models", lambda: v1.conversions.router(server.conversions)),
            (
                "examples projects",
                lambda: v1.examples.router(server.examples, server.example_fetches),
            ),
            ("files", lambda: v1.files.router(server.model_files)),
            ("datasets", lambda: v1.datasets.router(records, archive)),
            (
                "benchmarks",
                lambda: v1.benchmarks.router(records, server.benchmarks, queue, archive),
            ),
            (
                "benchmark",
                lambda: v1.benchmark_by_name.router(
                    server.benchmark_by_name, server.run_end_callbacks
                ),
            ),
            (
                "comparisons",
                lambda: v1.comparisons.router(records, server.comparisons, queue, archive),
            ),
            ("judgements", lambda: v1.judgements.router(server.judgements)),
            (
                "optimizations",
                lambda: v1.optimizations.router(records, server.optimizations, queue, archive),
            ),
            (
                "profiles",
                lambda: v1.profiles.router(
                    records, server.profiles, server.exports, queue, archive
                ),
            ),
            (
                " ".join(f"{kind}s" for kind in kept_kinds()),
                lambda: v1.model_kinds.router(records, server.models, queue, archive),
            ),
            ("runs", lambda: v1.runs.router(records.runs, server.exports, archive)),
            ("runs", lambda: v1.distributions.router(server.distributions)),
            ("jobs", lambda: v1.jobs.router(queue)),
            ("queue", lambda: v1.queue.router(queue)),
            (
                " ".join(f"{kind}s" for kind in subject_kinds()),
                lambda: v1.notes.router(records.notes),
            ),
            ("events", lambda: v1.events.router(records.events)),
            ("engines", lambda: v1.engines.router()),
            ("system", lambda: v1.system.router(server.system)),
            ("session", lambda: v1.session.router(listening, access)),
        )
    ]


def make_routed_app(
    server: Server, listening: Listening, access: Access, events: EventSockets
) -> App:
    """The routes and what holds for all of them, without their guard; ``events`` live as long."""
    announcer = Announcer(server.records, server.feed, events.broadcast)

    @cache
    def describe() -> openapi.Json:
        return add_document_schemas(openapi.openapi_document(routes.list_described()))

    folder = server.settings.inc_gui
    workbench = WorkbenchPage()
    operations = operations_of(server, events.broadcast, announcer)
    routers = [
        openapi.router(f"{PREFIX}/openapi.json", describe),
        pages.router(
            server.records.projects, listening, access, describe, workbench, has_home=folder is None
        ),
        # With the client of INC Bench, that has every address that nothing else has.
        gui.router(WebClient.read(folder), listening, access)
        if folder
        else workbench_pages.router(workbench, listening, access),
    ]
    (operate,) = routes_of(inc.router(operations))
    others = [route for router in routers for route in routes_of(router)]
    aliases = dict.fromkeys(inc.list_addresses(operations), operate)
    routes = Routes(
        make_route_groups(server, listening, access),
        [operate, *others],
        aliases,
        UPLOADS,
        lambda _: _lifespan(server.lifetime, events, announcer, routes),
    )
    return routes


@asynccontextmanager
async def _lifespan(
    lifetime: Lifetime, events: EventSockets, announcer: Announcer, routes: Routes
) -> AsyncIterator[None]:
    async with events.running():
        building = asyncio.create_task(routes.build_later())
        try:
            with announcer.running():
                lifetime.start()
                yield
        finally:
            building.cancel()
            await asyncio.wait([building])
            lifetime.close()
