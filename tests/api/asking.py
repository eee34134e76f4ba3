"""Ask an ASGI application without a server: quick, and free to send what servers would not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from modeldyno.api.access import CALLER, Access
from modeldyno.api.guard import LIMITS, NO_UPLOADS, Guard, Rules
from modeldyno.api.server_address import Listening
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import SignIns, SignInsInMemory

TOKEN = "t" * 43
HERE = Listening(port=5000)
ORIGIN = "http://127.0.0.1:5000"


@dataclass
class Clock:
    now_s: float = 1000.0

    def __call__(self):
        return self.now_s


@dataclass
class Reply:
    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    closed: int = 0

    def header(self, name):
        found = [value.decode() for key, value in self.headers if key.decode().lower() == name]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else None


@dataclass
class Inner:
    """The application behind the guard: remembers what reached it."""

    scopes: list[Any] = field(default_factory=list)
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    error: Exception | None = None
    meanwhile: Callable[[], Awaitable[None]] | None = None  # once, before it answers

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        while (message := await receive())["type"] == "http.request":
            self.body += message["body"]
            if not message.get("more_body"):
                break
        if self.error:
            raise self.error
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        await send({"type": "http.response.start", "status": 200, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": b"fine"})

    @property
    def caller(self):
        return self.scopes[-1][CALLER]


class Door:
    """A guarded application, its clock, and its sign-ins."""

    def __init__(self, listening=HERE, uploads=NO_UPLOADS, trusts_proxy=False, limits=LIMITS):
        self.clock = Clock()
        self.token = TOKEN
        self.sign_ins = SignIns(lambda: self.token, SignInsInMemory(), self.clock)
        known = self.sign_ins if listening.needs_token else None
        self.access = Access(known, listening.cookie, FailedAttempts(self.clock))
        self.inner = Inner()
        rules = Rules(listening.hosts, listening.origins, uploads, trusts_proxy)
        self.guard = Guard(self.inner, rules, self.access, limits)

    def ask(self, *said, pieces=(b"",), **more):
        """Headers as pairs of text; Host is ours unless given."""
        return asyncio.run(self._ask(self.scope(*said, **more), list(pieces)))

    def ask_during(self, first, *others):
        """Answers to ``others`` while ``first`` is under way, and to that: arguments of ``ask``."""
        replies = []

        async def meanwhile():
            replies.extend([await self._ask(self.scope(*said), [b""]) for said in others])

        self.inner.meanwhile = meanwhile
        return [self.ask(*first), *replies]

    def scope(self, method="GET", path="/", *headers, kind="http", query=""):
        pairs = [(key.lower().encode(), value.encode("latin-1")) for key, value in headers]
        if not any(key == b"host" for key, _ in pairs):
            pairs.insert(0, (b"host", b"127.0.0.1:5000"))
        scope = {
            "type": kind,
            "path": path,
            "query_string": query.encode(),
            "headers": [pair for pair in pairs if pair != (b"host", b"")],
            "client": ("127.0.0.1", 4321),
        }
        if kind == "http":
            scope["method"] = method
        return scope

    async def _ask(self, scope, pieces):
        reply = Reply()

        async def receive():
            if scope["type"] == "websocket":
                return {"type": "websocket.connect"}
            body = pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(pieces)}

        async def send(message):
            match message["type"]:
                case "http.response.start":
                    assert not reply.status, "two answers"
                    reply.status, reply.headers = message["status"], list(message["headers"])
                case "http.response.body":
                    reply.body += message["body"]
                case "websocket.accept":
                    reply.status = 101
                case "websocket.close":
                    reply.status, reply.closed = 403, message["code"]

        await self.guard(scope, receive, send)
        return reply

    def cookie(self):
        """A signed-in browser: its cookie header, and what its page knows."""
        found = self.sign_ins.sign_in_with_code(self.sign_ins.new_code())
        assert found
        secret, sign_in = found
        return ("Cookie", f"modeldyno-5000={secret}"), ("X-Modeldyno-CSRF", sign_in.csrf)


BEARER = ("Authorization", f"Bearer {TOKEN}")
