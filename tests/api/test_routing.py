"""From an address to its route: found at once, and built when it is asked for."""

from __future__ import annotations

import asyncio
import re

import pytest
from fastapi import APIRouter, Response

from modeldyno.api.errors import Refused
from modeldyno.api.guard import NO_UPLOADS, Message
from modeldyno.api.routing import RouteGroup, Routes, routes_of


class Things:
    """A group of routes that counts how often it is built."""

    def __init__(self, *nouns: str) -> None:
        self.built = 0
        self.group = RouteGroup(nouns, self._build)
        self._nouns = nouns

    def _build(self) -> APIRouter:
        self.built += 1
        router = APIRouter()
        for noun in self._nouns:
            router.get(f"/{noun}/{{number}}")(_tell)
            router.post(f"/{noun}/plan")(_plan)
        return router


def _tell(number: int) -> Response:
    return Response(f"number {number}")


def _plan() -> Response:
    return Response("a plan")


def made(*things: Things, **others) -> Routes:
    return Routes([one.group for one in things], [], {}, NO_UPLOADS, lambda _: None, **others)


def ask(routes: Routes, path: str, method: str = "GET") -> tuple[int, bytes]:
    async def run() -> list[Message]:
        said: list[Message] = []

        async def send(message):
            said.append(message)

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {"type": "http", "method": method, "path": path}
        await routes({**scope, "query_string": b"", "headers": []}, receive, send)
        return said

    start, *rest = asyncio.run(run())
    return start["status"], b"".join(message.get("body", b"") for message in rest)


def status_of(routes: Routes, path: str, method: str = "GET") -> int:
    with pytest.raises(Refused) as refused:
        ask(routes, path, method)
    return refused.value.refusal.status


def test_routes_are_built_when_they_are_asked_for_and_once():
    cats, dogs = Things("cats"), Things("dogs", "puppies")
    routes = made(cats, dogs)
    assert [ask(routes, "/api/v1/puppies/3"), ask(routes, "/api/v1/dogs/4")] == [
        (200, b"number 3"),
        (200, b"number 4"),
    ]
    assert (cats.built, dogs.built) == (0, 1)


def test_all_that_share_an_address_are_built_together():
    first, second = Things("cats"), Things("dogs", "cats")
    assert ask(made(first, second), "/api/v1/cats/1") == (200, b"number 1")
    assert (first.built, second.built) == (1, 1)


def test_whoever_describes_them_gets_all_in_their_order():
    routes = made(Things("dogs"), Things("cats"))
    ask(routes, "/api/v1/cats/1")
    assert [route.path for route in routes.list_described()] == [
        "/api/v1/dogs/{number}",
        "/api/v1/dogs/plan",
        "/api/v1/cats/{number}",
        "/api/v1/cats/plan",
    ]


def test_a_plain_address_is_never_taken_for_a_parameter():
    assert status_of(made(Things("cats")), "/api/v1/cats/plan") == 405


def test_what_may_be_done_at_an_address_is_told():
    routes = made(Things("cats"))
    assert ask(routes, "/api/v1/cats/1", "OPTIONS")[0] == 204
    assert routes.methods_at("/api/v1/cats/1") == {"GET", "HEAD", "OPTIONS"}
    assert routes.methods_at("/api/v1/cats/plan") == {"POST", "OPTIONS"}
    assert status_of(routes, "/api/v1/cats/1", "DELETE") == 405


def test_a_group_has_no_routes_but_those_of_its_nouns():
    wrong = RouteGroup(["birds"], Things("cats").group.build)
    with pytest.raises(AssertionError):
        Routes([wrong], [], {}, NO_UPLOADS, lambda _: None).list_described()


def test_there_is_nothing_at_other_addresses():
    routes = made(Things("cats"))
    for path in ("/api/v1/cats", "/api/v1/cats/1/2", "/api/v1/birds/1", "/api/v1", "/cats/1"):
        assert status_of(routes, path) == 404, path


def test_what_does_not_fit_a_parameter_is_refused():
    assert status_of(made(Things("cats")), "/api/v1/cats/tom") == 422


def test_an_alias_leads_to_its_route_and_nothing_else_counts_as_there():
    router = APIRouter()

    @router.api_route("/api/{name:path}", methods=["GET", "POST"])
    async def operate(name: str) -> Response:
        return Response(name)

    (route,) = routes_of(router)
    routes = Routes([], [route], {"/api/known": route}, re.compile("(?!)"), lambda _: None)
    assert ask(routes, "/api/known") == (200, b"known")
    assert ask(routes, "/api/unknown") == (200, b"unknown")
    assert routes.methods_at("/api/known") == {"GET", "HEAD", "OPTIONS", "POST"}
    assert routes.methods_at("/api/unknown") == set()
