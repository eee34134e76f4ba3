"""The outermost layer of the server: every request and every web socket passes here first.

It must stay outermost. Inside a framework's router it would miss what is mounted beside it, which
is how Socket.IO servers came to answer pages of strangers. It covers every path and method, health
and static files too, and it knows nothing of any framework: plain ASGI, standard library only.

The server below must not have believed forwarded headers already (``api/server_address.py``).
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from modeldyno.api import errors
from modeldyno.api.access import CALLER, Access, Caller
from modeldyno.api.errors import Headers, Refusal, Refused, Surface, body_of, refusal_of
from modeldyno.api.request_head import Head, read_head, surface_of
from modeldyno.core.errors import ModeldynoError

logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

SMALL_BODY = 64 << 10
JSON_BODY = 1 << 20
UPLOAD_BODY = 8 << 30
# Requests at a time: of those who are known, of strangers on our pages, and of Socket.IO's clients
# that poll, who say who they are only inside of its protocol (api/socket_limits.py bounds those of
# its strangers).
MOST_KNOWN, MOST_STRANGERS, MOST_POLLING = 400, 100, 400
# In a scope: called when a request on this connection came from a known caller.
RECOGNISE = "modeldyno.recognise"
PATIENCE_S = 60.0  # for a body that is no upload, and between two parts of one that is
NO_UPLOADS = re.compile(r"(?!)")

PAGE_POLICY = (
    b"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    b"form-action 'self'; frame-ancestors 'none'"
)
# The client of INC Bench says in its page what its addresses are relative to.
CLIENT_POLICY = PAGE_POLICY.replace(b"base-uri 'none'", b"base-uri 'self'")
# Whatever the API sends, even a page that somebody uploaded, runs and loads nothing. Not `sandbox`:
# a log in such a tab would refresh itself as a page from elsewhere, which we refuse.
_DATA_POLICY = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
ALWAYS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_ON_DATA: Headers = (
    *ALWAYS,
    (b"content-security-policy", _DATA_POLICY),
    (b"cache-control", b"no-store"),
)
_HIDDEN = frozenset(
    [name for name, _ in ALWAYS] + [b"content-security-policy", b"server", b"x-powered-by"]
)
_STARTS = ("http.response.start", "websocket.http.response.start")


@dataclass(frozen=True)
class Rules:
    hosts: frozenset[bytes]  # as in the Host header, with the port
    origins: frozenset[bytes]  # as in the Origin header: scheme, host and port
    uploads: re.Pattern[str] = NO_UPLOADS  # "POST /path" of those whose body may be a model
    trusts_proxy: bool = False
    page_policy: bytes = PAGE_POLICY


@dataclass(frozen=True)
class Limits:
    """Requests that are answered at a time."""

    known: int = MOST_KNOWN
    strangers: int = MOST_STRANGERS
    polling: int = MOST_POLLING


LIMITS = Limits()


class _Room:
    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    @property
    def is_full(self) -> bool:
        return self._taken >= self._most

    def __enter__(self) -> None:
        self._taken += 1

    def __exit__(self, *_: object) -> None:
        self._taken -= 1


class Guard:
    def __init__(self, app: App, rules: Rules, access: Access, limits: Limits = LIMITS) -> None:
        self._app = app
        self._rules = rules
        self._access = access
        self._known = _Room(limits.known)
        self._strangers = _Room(limits.strangers)
        self._polling = _Room(limits.polling)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._app(scope, receive, send)
            return
        if kind not in ("http", "websocket"):
            raise ValueError(f"there is no rule for {kind!r}")  # a new kind does not slip through
        surface = surface_of(scope["path"])
        answer = _GuardedAnswer(send, surface, self._rules.page_policy)
        try:
            judgement = self._check_request(scope, surface)
        except ModeldynoError as error:  # the token's file became unusable: all are refused
            logger.exception("callers cannot be checked, so all are refused")
            judgement = refusal_of(error)
        if isinstance(judgement, Refusal):
            await _refuse(answer, kind, judgement)
            return
        head, caller = judgement
        if caller is not None and RECOGNISE in scope:
            scope[RECOGNISE]()
        judged_scope = {**scope, "headers": head.headers, CALLER: caller}
        if kind == "websocket":
            await self._app(judged_scope, receive, answer.send)
            return
        room = self._choose_room(judged_scope, surface, caller)
        if room.is_full:
            await answer.refuse(errors.NO_ROOM)
            return
        with room:
            await self._pass_on(
                judged_scope, head, self._make_body_reader(head, receive, answer), answer
            )

    def _choose_room(
        self, scope: MutableMapping[str, Any], surface: Surface, caller: Caller | None
    ) -> _Room:
        """Strangers take none from those who are known. Whose browser opens a page is looked up
        only when it matters."""
        if caller is not None:
            return self._known
        if surface == "socket":
            return self._polling
        is_known = self._strangers.is_full and self._access.page_sign_in(scope) is not None
        return self._known if is_known else self._strangers

    def _check_request(
        self, scope: MutableMapping[str, Any], surface: Surface
    ) -> tuple[Head, Caller | None] | Refusal:
        head = read_head(scope, surface, self._rules.trusts_proxy)
        if isinstance(head, Refusal):
            return head
        once = head.once
        if once.get(b"host") not in self._rules.hosts:
            return errors.HOST
        origin = once.get(b"origin")
        if origin is not None and origin not in self._rules.origins:
            return errors.ORIGIN
        if not _comes_from_here(head):
            return errors.ORIGIN
        if head.method in ("TRACE", "CONNECT") or (head.is_websocket and surface == "page"):
            return errors.METHOD
        if head.body_bytes is not None and head.body_bytes > self._largest_body_bytes(head):
            return errors.TOO_LARGE
        caller = self._access.admit(head)
        return caller if isinstance(caller, Refusal) else (head, caller)

    def _largest_body_bytes(self, head: Head) -> int:
        if head.surface in ("page", "socket"):
            return SMALL_BODY
        return UPLOAD_BODY if self._is_upload(head) else JSON_BODY

    def _is_upload(self, head: Head) -> bool:
        return self._rules.uploads.fullmatch(f"{head.method} {head.path}") is not None

    def _make_body_reader(self, head: Head, receive: Receive, answer: _GuardedAnswer) -> _Body:
        return _Body(
            receive, answer, self._largest_body_bytes(head), is_upload=self._is_upload(head)
        )

    async def _pass_on(
        self, scope: MutableMapping[str, Any], head: Head, body: _Body, answer: _GuardedAnswer
    ) -> None:
        try:
            await self._app(scope, body.receive, answer.send)
        except Exception as error:
            if body.is_over:  # the application noticed that its client is gone: as intended
                return
            if answer.has_started:
                raise
            if not isinstance(error, Refused):
                logger.exception("%s %s failed", head.method, head.path)
            await answer.refuse(error.refusal if isinstance(error, Refused) else errors.BUG)


def _comes_from_here(head: Head) -> bool:
    """By what browsers say of the page that asks; other programs say nothing.

    Other ports of this machine count as the same *site*, so that is not enough. A link from
    anywhere may open a page of ours: the browser shows it, and tells the other page nothing.
    """
    site = head.once.get(b"sec-fetch-site")
    if site is None or site in (b"same-origin", b"none"):
        return True
    return (
        head.surface == "page"
        and not head.is_websocket
        and head.method == "GET"
        and site in (b"cross-site", b"same-site")
        and head.once.get(b"sec-fetch-mode") == b"navigate"
        and head.once.get(b"sec-fetch-dest") == b"document"
    )


async def _refuse(answer: _GuardedAnswer, kind: str, refusal: Refusal) -> None:
    if kind == "http":
        await answer.refuse(refusal)
    else:  # before it was accepted: the server answers 403
        await answer.send({"type": "websocket.close", "code": 1008})


class _GuardedAnswer:
    """The way back: our headers on everything, and nothing after a refusal."""

    def __init__(self, send: Send, surface: Surface, page_policy: bytes) -> None:
        self._send = send
        self._surface = surface
        self._on_pages = (*ALWAYS, (b"content-security-policy", page_policy))
        self.has_started = False
        self._is_over = False

    async def send(self, message: Message) -> None:
        if self._is_over:
            return
        if message["type"] in _STARTS:
            self.has_started = True
            message = {**message, "headers": self._add_security_headers(message.get("headers", ()))}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Unless an answer is under way already."""
        if not self.has_started:
            status, headers, body = body_of(refusal, self._surface)
            await self.send({"type": "http.response.start", "status": status, "headers": headers})
            await self.send({"type": "http.response.body", "body": body})
        self._is_over = True

    def _add_security_headers(
        self, headers: Iterable[tuple[bytes, bytes]]
    ) -> list[tuple[bytes, bytes]]:
        is_page = self._surface == "page"
        kept = [
            header
            for header in headers
            if (name := header[0].lower()) not in _HIDDEN
            and not name.startswith(b"access-control-")
            and (is_page or name != b"cache-control")
        ]
        kept += self._on_pages if is_page else _ON_DATA
        return kept


class _Body:
    """The way in: counted, whatever length was announced, and not waited for without end."""

    def __init__(
        self, receive: Receive, answer: _GuardedAnswer, limit: int, is_upload: bool
    ) -> None:
        self._receive = receive
        self._answer = answer
        self._left = limit
        self._is_upload = is_upload
        self._until_s = time.monotonic() + PATIENCE_S
        self._is_whole = False
        self.is_over = False  # refused: for the application, its client is gone

    async def receive(self) -> Message:
        if self.is_over:
            return {"type": "http.disconnect"}
        if self._is_whole:  # what may still come is that the client leaves, whenever it does
            return await self._receive()
        try:
            message = await self._next_part()
        except TimeoutError:
            return await self._refuse(errors.TOO_SLOW)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            return await self._refuse(errors.TOO_LARGE)
        self._is_whole = not message.get("more_body", False)
        return message

    async def _next_part(self) -> Message:
        if self._is_upload:
            self._until_s = time.monotonic() + PATIENCE_S
        return await asyncio.wait_for(self._receive(), self._until_s - time.monotonic())

    async def _refuse(self, refusal: Refusal) -> Message:
        self.is_over = True
        await self._answer.refuse(refusal)
        return {"type": "http.disconnect"}
