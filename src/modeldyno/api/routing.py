"""From an address to what answers there, and from what that raises to a refusal.

FastAPI declares the routes, reads their parameters and describes them. It would look for the route
of a request by trying one after the other; here an address leads to it at once. Everything that may
be done at an address is known as well, so HEAD, OPTIONS and refused methods are answered for all.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Router, compile_path

from modeldyno.api.access import SAFE_METHODS
from modeldyno.api.bodies import JsonBodies
from modeldyno.api.errors import METHOD, Refusal, Refused, refusal_of, validation_refusal
from modeldyno.api.guard import App, Receive, Send
from modeldyno.api.request_head import surface_of
from modeldyno.api.threads import ReadingThreads
from modeldyno.core.errors import ModeldynoError

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]

PREFIX = "/api/v1"
NO_HEAD = "/login"  # even its head would use up a one-time code
NOWHERE = Refusal(
    404, "NOT_FOUND", "There is nothing at this address", "", "See /docs for all addresses"
)
_BUILD_AFTER_S = 0.2  # when those who waited for the server have their first answers
_TARGET = "modeldyno.target"  # in a scope: whose answer it is, once its body is read


def routes_of(router: APIRouter, prefix: str = "") -> list[APIRoute]:
    """The routes of a router, below ``prefix`` and named by their functions.

    ``include_router`` would build each of them a second time, when the first request comes.
    """
    routes = [route for route in router.routes if isinstance(route, APIRoute)]
    for route in routes:
        route.path = prefix + route.path
        route.path_regex, route.path_format, route.param_convertors = compile_path(route.path)
        route.unique_id = route.name
    return routes


@dataclass(frozen=True, slots=True, eq=False)
class RouteGroup:
    """Routes below ``/api/v1``; ``nouns`` are all that follow that in their addresses."""

    nouns: Sequence[str]
    build: Callable[[], APIRouter]


@dataclass(frozen=True, slots=True)
class _Target:
    path: str  # as it is declared
    pattern: re.Pattern[str]
    methods: frozenset[str]
    answer: App


class Routes:
    """``groups`` are built when one of their addresses is first requested, or some time after the
    start: FastAPI and pydantic take half a second for all of them, and requests for other addresses
    must not wait for that. ``aliases`` are further addresses of a route whose own address has a
    parameter; then those, and not all that would fit the parameter, are what there is."""

    def __init__(
        self,
        groups: Sequence[RouteGroup],
        routes: Sequence[APIRoute],
        aliases: Mapping[str, APIRoute],
        uploads: re.Pattern[str],
        lifespan: Callable[[Any], Any],
    ) -> None:
        self._plain: defaultdict[str, dict[str, _Target]] = defaultdict(dict)
        self._patterns: defaultdict[str, list[_Target]] = defaultdict(list)
        self._threads = ReadingThreads()
        self._aliased = {route.path for route in aliases.values()}
        for route in routes:
            self._add(route, [address for address in aliases if aliases[address] is route])
        self._groups = groups
        self._built: dict[RouteGroup, list[APIRoute]] = {}
        self._unbuilt = {f"{PREFIX}/{noun}" for group in groups for noun in group.nouns}
        self._building = threading.Lock()
        self._with_body = JsonBodies(_send_response, uploads)
        self._lifespan = Router(lifespan=lifespan)

    def _add(self, route: APIRoute, aliases: Iterable[str] = ()) -> None:
        methods = frozenset(route.methods or ())
        answer = _make_reading_handler(route, self._threads) or _make_full_handler(route)
        target = _Target(route.path, route.path_regex, methods, answer)
        addresses = [*aliases]
        if "{" in route.path:
            self._patterns[_first_segments(route.path)].append(target)
        else:
            addresses.append(route.path)
        for address in addresses:
            for method in methods:
                self._plain[address].setdefault(method, target)

    def list_described(self) -> list[APIRoute]:
        """Those of all groups, in their order."""
        for start in sorted(self._unbuilt):
            self._build_below(start)
        return [route for group in self._groups for route in self._built[group]]

    async def build_later(self) -> None:
        await asyncio.sleep(_BUILD_AFTER_S)
        for start in sorted(self._unbuilt):
            await asyncio.to_thread(self._build_below, start)

    def _build_below(self, start: str) -> None:
        """All groups with addresses that start so."""
        with self._building:
            for group in self._groups:
                if start.removeprefix(f"{PREFIX}/") in group.nouns and group not in self._built:
                    routes = routes_of(group.build(), PREFIX)
                    for route in routes:
                        # Otherwise a request for it would not get it built.
                        assert _first_segments(route.path).rpartition("/")[2] in group.nouns, (
                            route.path
                        )
                        self._add(route)
                    self._built[group] = routes
            self._unbuilt.discard(start)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        if self._unbuilt and (start := _first_segments(path)) in self._unbuilt:
            await asyncio.to_thread(self._build_below, start)
        if method == "HEAD" and "HEAD" in self.methods_at(path):
            method = "GET"  # uvicorn sends no body
        elif method == "OPTIONS" and self.methods_at(path):
            headers = [(b"allow", self._allowed_methods(path))]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        target = self._find(method, path)
        if target is None:
            raise Refused(self._refusal(path) if self.methods_at(path) else NOWHERE)
        match = target.pattern.match(path)
        parameters = match.groupdict() if match else {}
        request = {**scope, "method": method, "path_params": parameters, _TARGET: target}
        app = target.answer if method in SAFE_METHODS else self._with_body
        try:
            await app(request, receive, send)
        except Exception as error:
            refusal = _refusal_of(error)
            if refusal is None:
                raise
            if refusal.status >= 500 and isinstance(error, ModeldynoError):
                logger.error("%s %s: %s", method, path, error)  # noqa: TRY400 - no bug of ours
            raise Refused(refusal) from error

    def _find(self, method: str, path: str) -> _Target | None:
        plain = self._plain.get(path)
        if plain is not None:
            return plain.get(method)
        return next(
            (route for route in self._possible_targets(path) if method in route.methods), None
        )

    def _possible_targets(self, path: str) -> Iterable[_Target]:
        candidates = self._patterns.get(_first_segments(path)) or self._patterns.get("") or ()
        return (target for target in candidates if target.pattern.match(path))

    def methods_at(self, path: str) -> frozenset[str]:
        """Empty: there is nothing at this address."""
        methods = set(self._plain.get(path, ()))
        if not methods:
            fitting = [
                route for route in self._possible_targets(path) if route.path not in self._aliased
            ]
            methods = {method for target in fitting for method in target.methods}
        if not methods:
            return frozenset()
        has_head = "GET" in methods and path != NO_HEAD and surface_of(path) != "named"
        return frozenset(methods | {"OPTIONS"} | ({"HEAD"} if has_head else set()))

    def _refusal(self, path: str) -> Refusal:
        return replace(METHOD, headers=((b"allow", self._allowed_methods(path)),))

    def _allowed_methods(self, path: str) -> bytes:
        return ", ".join(sorted(self.methods_at(path))).encode()


async def _send_response(scope: Scope, receive: Receive, send: Send) -> None:
    await scope[_TARGET].answer(scope, receive, send)


def _first_segments(path: str) -> str:
    """What addresses below ``/api/v1`` begin with, down to the noun; empty for all others."""
    if not path.startswith(f"{PREFIX}/"):
        return ""
    end = path.find("/", len(PREFIX) + 1)
    return path if end < 0 else path[:end]


def _refusal_of(error: Exception) -> Refusal | None:
    """None: our bug."""
    match error:
        case Refused():
            return error.refusal
        case ModeldynoError():
            return refusal_of(error)
        case RequestValidationError():
            return validation_refusal(error.errors()[0])
        case HTTPException():
            why, headers = str(error.detail), error.headers or {}
            lines = tuple((name.lower().encode(), text.encode()) for name, text in headers.items())
            return Refusal(error.status_code, "BAD_VALUE", "Refused", why, NOWHERE.fix, lines)
        case _:
            return None


# ---------------------------------------------------------------- calling a route


def _make_full_handler(route: APIRoute) -> App:
    """As FastAPI does it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as files:
            scope["fastapi_middleware_astack"] = files
            await route.app(scope, receive, send)

    return answer


def _make_reading_handler(route: APIRoute, threads: ReadingThreads) -> App | None:
    """The same for routes that read and answer with bytes, in a third of the time: what FastAPI
    provides for dependencies that are closed again, bodies and models, they do not have."""
    dependant, endpoint = route.dependant, route.endpoint
    queries = [_query_reader(dependency) for dependency in dependant.dependencies]
    returns_bytes = endpoint.__annotations__.get("return") in (Response, "Response")
    is_plain = (
        type(route) is APIRoute
        and route.methods == {"GET"}
        and returns_bytes
        and not iscoroutinefunction(endpoint)
        and None not in queries
        and not _needs_more_than_query(dependant)
    )
    if not is_plain:
        return None
    fields, request_name = dependant.path_params, dependant.request_param_name

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        values: dict[str, Any] = {}
        for field in fields:
            text = scope["path_params"][field.alias]
            values[field.name], errors = field.validate(text, {}, loc=("path", field.alias))
            if errors:
                raise RequestValidationError(errors)
        request = Request(scope, receive)
        for name, read in queries:  # type: ignore[misc]  # none of them is None
            values[name] = await read(request)
        if request_name:
            values[request_name] = request
        response: Response = await threads.run(partial(endpoint, **values))
        await response(scope, receive, send)

    return answer


Read = Callable[[Request], Awaitable[Any]]


def _query_reader(dependant: Dependant) -> tuple[str, Read] | None:
    """Under which name the endpoint takes what a dependency reads from the request alone."""
    name, call = dependant.name, dependant.call
    is_simple = iscoroutinefunction(call) and dependant.request_param_name == "request"
    if (
        not is_simple
        or dependant.dependencies
        or dependant.path_params
        or _needs_more_than_query(dependant)
    ):
        return None
    assert name is not None
    assert call is not None
    return name, call


def _needs_more_than_query(dependant: Dependant) -> bool:
    """Than parts of the address, and the request itself."""
    return bool(
        dependant.query_params
        or dependant.header_params
        or dependant.cookie_params
        or dependant.body_params
        or dependant.websocket_param_name
        or dependant.http_connection_param_name
        or dependant.response_param_name
        or dependant.background_tasks_param_name
        or dependant.security_scopes_param_name
    )
