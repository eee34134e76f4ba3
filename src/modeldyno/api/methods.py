"""What may be done at an address: all of it, told to whoever asks.

Routers know of one route at a time: where several share an address, they would name the methods of
the first only. And none of them answers HEAD or OPTIONS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from typing import Any

from modeldyno.api.guard import App, Receive, Send

NO_HEAD = "/login"  # even its head would use up a one-time code

Routes = Iterable[tuple[re.Pattern[str], Iterable[str]]]  # an address, and what it answers


class Methods:
    def __init__(self, app: App, routes: Routes) -> None:
        self._app = app
        self._routes = [(pattern, frozenset(methods)) for pattern, methods in routes]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        allowed = self.at(scope["path"])
        if scope["method"] == "HEAD" and "HEAD" in allowed:
            await self._app({**scope, "method": "GET"}, receive, send)  # uvicorn sends no body
        elif scope["method"] == "OPTIONS" and allowed:
            headers = [(b"allow", ", ".join(sorted(allowed)).encode())]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)

    def at(self, path: str) -> frozenset[str]:
        """Empty: there is nothing at this address."""
        found = {m for pattern, methods in self._routes if pattern.match(path) for m in methods}
        if "GET" in found and path != NO_HEAD:
            found.add("HEAD")
        return frozenset(found | {"OPTIONS"} if found else found)
