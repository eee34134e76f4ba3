"""What may be done at an address: all of it, told to whoever asks.

Routers know of one route at a time: where several share an address, they would name the methods of
the first only, and take ``/benchmarks/plan`` for a benchmark called "plan". And none of them
answers HEAD or OPTIONS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, MutableMapping
from dataclasses import replace
from typing import Any

from starlette.routing import compile_path

from modeldyno.api.errors import METHOD, Headers, Refusal, body_of
from modeldyno.api.guard import App, Receive, Send
from modeldyno.api.head import surface_of

NO_HEAD = "/login"  # even its head would use up a one-time code


class Methods:
    """``routes``: addresses as they are written (``/jobs/{job_id}``), and what each answers."""

    def __init__(self, app: App, routes: Iterable[tuple[str, Iterable[str]]]) -> None:
        self._app = app
        known: defaultdict[str, set[str]] = defaultdict(set)
        for address, methods in routes:
            known[address] |= set(methods)
        self._plain = {address: known[address] for address in known if "{" not in address}
        self._others = [(compile_path(x)[0], known[x]) for x in known if "{" in x]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        if method == "HEAD" and "HEAD" in self.at(path):
            await self._app({**scope, "method": "GET"}, receive, send)  # uvicorn sends no body
        elif method == "OPTIONS" and self.at(path):
            await _answer(send, 204, ((b"allow", self._told(path)),), b"")
        elif self._is_refused(method, path):
            await _answer(send, *body_of(self.refusal(path), surface_of(path)))
        else:
            await self._app(scope, receive, send)

    def _is_refused(self, method: str, path: str) -> bool:
        """Before anybody looks at a body. (What is read most often, the router itself refuses.)"""
        known = self._plain.get(path)
        if known is None:
            known = set() if method == "GET" else set(self.at(path))
        return bool(known) and method not in known

    def at(self, path: str) -> frozenset[str]:
        """Empty: there is nothing at this address."""
        found = self._plain.get(path)
        if found is None:
            found = {m for pattern, methods in self._others if pattern.match(path) for m in methods}
        if not found:
            return frozenset()
        return frozenset(
            found | {"OPTIONS"} | ({"HEAD"} if "GET" in found and _may_be_peeked(path) else set())
        )

    def refusal(self, path: str) -> Refusal:
        return replace(METHOD, headers=((b"allow", self._told(path)),))

    def _told(self, path: str) -> bytes:
        return ", ".join(sorted(self.at(path))).encode()


def _may_be_peeked(path: str) -> bool:
    """A head of what acts would act, and tell nothing of it."""
    return path != NO_HEAD and surface_of(path) != "named"


async def _answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
