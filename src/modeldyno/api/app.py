"""The server's application: the guard outermost, then Socket.IO, then the routes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from modeldyno.api.access import Access
from modeldyno.api.answers import Answers
from modeldyno.api.errors import Refusal, body_of, refusal_of
from modeldyno.api.guard import App, Guard, Rules
from modeldyno.api.head import surface_of
from modeldyno.api.listening import Listening
from modeldyno.api.v1 import benchmarks, comparisons, jobs, projects, runs
from modeldyno.api.v1.documents import with_documents
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.versions import tool_version

if TYPE_CHECKING:
    from modeldyno.workbench import Server

logger = logging.getLogger(__name__)

ROUTERS = (
    projects.router,
    benchmarks.router,
    comparisons.router,
    runs.router,
    jobs.router,
)
DESCRIPTION = """Measure models, keep the numbers, compare them. Lengths of time are in milliseconds
(`_ms`) or seconds (`_s`), moments in UTC (ISO 8601)."""


def application(server: Server, listening: Listening, access: Access) -> App:
    """What uvicorn serves; nothing of it works before its lifespan began."""
    rules = Rules(listening.hosts, listening.origins, uploads=("/api/v1/projects/",))
    return Guard(Answers(routed(server), server.records.database), rules, access)


class _Described(FastAPI):
    """Its description also holds the documents that the terminal prints."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = with_documents(super().openapi())
        return self.openapi_schema


def routed(server: Server) -> FastAPI:
    """The routes without their guard."""
    app = _Described(
        title="Modeldyno",
        version=tool_version(),
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page loads scripts from elsewhere; ours is docs_page.py
        redoc_url=None,
        lifespan=_lifespan(server),
    )
    for make in ROUTERS:
        app.include_router(make(server), prefix="/api/v1")
    app.add_exception_handler(ModeldynoError, _told)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(HTTPException, _refused)
    return app


def _lifespan(server: Server) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            server.close()

    return lifespan


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, ModeldynoError)
    refusal = refusal_of(error)
    if refusal.status >= 500:
        logger.error("%s %s: %s", request.method, request.url.path, error)
    return _response(request, refusal)


async def _misunderstood(request: Request, error: Exception) -> Response:
    """What does not fit its description: the first thing that does not, by its name."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    title = f"{where[:100]}: {first['msg'][:200]}"
    return _response(
        request,
        Refusal(422, "BAD_VALUE", title, "", "See /docs for what this operation takes"),
    )


async def _refused(request: Request, error: Exception) -> Response:
    """What the router itself refuses: no such path, no such method, a body that is no JSON."""
    assert isinstance(error, HTTPException)
    code = {404: "NOT_FOUND", 405: "METHOD_REFUSED"}.get(error.status_code, "BAD_VALUE")
    headers = tuple((k.lower().encode(), v.encode()) for k, v in (error.headers or {}).items())
    refusal = Refusal(
        error.status_code, code, str(error.detail), "", "See /docs for what there is", headers
    )
    return _response(request, refusal)


def _response(request: Request, refusal: Refusal) -> Response:
    status, headers, body = body_of(refusal, surface_of(request.url.path))
    response = Response(body, status)
    response.raw_headers = list(headers)
    return response


Handler = Callable[[Request, Exception], Awaitable[Response]]
