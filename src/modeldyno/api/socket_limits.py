"""Lines to Socket.IO's clients, watched below its protocol, so that no client floods or clogs us.

Socket.IO takes in whatever comes, known client or not yet, and waits for as long as a client does
not read. Here a web socket that sends too much is hung up on, and so is one that takes nothing; and
strangers get so many lines and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from modeldyno.api.errors import Refusal, body_of
from modeldyno.api.event_listener import Allowance
from modeldyno.api.guard import App, Message, Receive, Send

logger = logging.getLogger(__name__)

# Of a client's frames: an answer to a ping now and then, and what it asks for.
PER_S, BURST = 10.0, 60
PATIENCE_S = 20.0  # for one message to go out
MOST_UNREAD = 1000  # packets that wait for a client who sends by POST and does not fetch

FindLine = Callable[[str], Any]
HangUp = Callable[[str], Awaitable[None]]
Refuse = Callable[[MutableMapping[str, Any]], Refusal | None]


class Lines:
    """``find`` gives Engine.IO's connection of a name, or None; ``hang_up`` ends one; ``refuse``
    says why there is no new one for whoever asks."""

    def __init__(
        self,
        app: App,
        find: FindLine,
        hang_up: HangUp,
        refuse: Refuse,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._app = app
        self._find = find
        self._hang_up = hang_up
        self._refuse = refuse
        self._patience_s = patience_s

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        name = _line_name(scope)
        refusal = None if name else self._refuse(scope)
        if refusal is not None:
            await _refuse(scope, send, refusal)
            return
        if scope["type"] == "websocket":
            await self._serve_websocket(scope, _Line(receive, send, self._patience_s))
            return
        line = self._find(name) if name else None
        if line is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "POST":
            await self._pass_on_post(line, scope, receive, send)
        else:
            await self._answer_poll(name, scope, receive, send)

    async def _serve_websocket(self, scope: MutableMapping[str, Any], line: _Line) -> None:
        try:
            await self._app(scope, line.receive, line.send)
        except Exception:  # rubbish before Socket.IO could make sense of it
            logger.info("a web socket ended over what it sent", exc_info=True)
            await line.hang_up()

    async def _pass_on_post(
        self, line: Any, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        if line.queue.qsize() > MOST_UNREAD:
            await send({"type": "http.response.start", "status": 429, "headers": []})
            await send({"type": "http.response.body", "body": b"fetch what waits first"})
            return
        await self._app(scope, receive, send)
        if line.closed:
            line.queue.put_nowait(None)  # the request that waits for news would wait on

    async def _answer_poll(
        self, name: str, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        """A request for news that breaks takes its line along. Some clients ask once more without
        a word, and would never learn that what we sent to the broken one was lost."""
        first = await receive()
        answering = asyncio.ensure_future(self._app(scope, _receive_once(first), send))
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                await self._hang_up(name)
            await answering
        finally:
            leaving.cancel()
            answering.cancel()


async def _refuse(scope: MutableMapping[str, Any], send: Send, refusal: Refusal) -> None:
    if scope["type"] == "websocket":  # before it was accepted: the server answers 403
        await send({"type": "websocket.close", "code": 1008})
        return
    status, headers, body = body_of(refusal, "socket")
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})


def _receive_once(message: Message) -> Receive:
    async def receive() -> Message:
        return message

    return receive


class _Line:
    def __init__(self, receive: Receive, send: Send, patience_s: float) -> None:
        self._receive = receive
        self._send = send
        self._patience_s = patience_s
        self._allowance = Allowance(PER_S, BURST)
        self._is_open = True

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "websocket.receive":
            return message
        # JSON only: bytes are nothing that we could want.
        if message.get("bytes") is not None or not self._allowance.try_to_spend():
            await self.hang_up()
            return {"type": "websocket.disconnect", "code": 1008}
        return message

    async def send(self, message: Message) -> None:
        if not self._is_open:
            raise OSError("this line is closed")
        try:
            async with asyncio.timeout(self._patience_s):
                await self._send(message)
        except TimeoutError:
            self._is_open = False
            raise OSError("the client takes nothing") from None

    async def hang_up(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # it is gone already
            await self.send({"type": "websocket.close", "code": 1008})
        self._is_open = False


def _line_name(scope: MutableMapping[str, Any]) -> str:
    query: bytes = scope.get("query_string", b"")
    return parse_qs(query.decode("latin-1")).get("sid", [""])[0]
