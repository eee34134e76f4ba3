"""Socket.IO's default namespace, as clients of INC Bench know it: everything to everybody.

Nothing of it is kept and nothing has a number; whoever was away asks for the list again. Our own
page listens on ``/v1`` (``api/events.py``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from engineio.exceptions import EngineIOError
from socketio.exceptions import ConnectionRefusedError as Refused

from modeldyno.api.access import Access, Caller
from modeldyno.core.errors import ModeldynoError
from modeldyno.services.background import repeat

logger = logging.getLogger(__name__)

NAMESPACE = "/"
SETTLED_S = 0.5  # a client hears nothing before it was told that it is connected
MOST_WAITING = 500  # messages for one client; who does not read at all is sent away

Status = Literal["success", "error", "failure"]


class Broadcast:
    """``say`` may be called from any thread; everything else happens in the loop's."""

    def __init__(self, sio: Any, access: Access, hang_up: Callable[[str], None]) -> None:
        """``hang_up`` ends Engine.IO's connection of that name, and waits for nobody."""
        self._sio = sio
        self._access = access
        self._hang_up = hang_up
        self._lines: dict[str, tuple[str, Caller]] = {}  # by sid: Engine.IO's name, and who it is
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._firsts: list[Callable[[], None]] = []
        sio.on("connect", self._connect, namespace=NAMESPACE)
        sio.on("disconnect", self._disconnect, namespace=NAMESPACE)

    def say(self, event: str, status: Status, data: dict[str, Any]) -> None:
        """In the order of calls; to those who are connected."""
        body = json.dumps([event, {"status": status, "data": data}], separators=(",", ":"))
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._waiting.put_nowait, f"2{body}")

    def on_first(self, tell: Callable[[], None]) -> None:
        """Once, soon after the first client has come; in the loop's thread, so it must be quick."""
        self._firsts.append(tell)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        telling = asyncio.create_task(repeat(self._tell, "the broadcast to clients of /api"))
        try:
            yield
        finally:
            self._loop = None
            telling.cancel()
            self._lines.clear()

    @property
    def callers(self) -> set[Caller]:
        return {caller for _, caller in self._lines.values()}

    def part(self, gone: set[Caller]) -> None:
        """Those who may not listen any more."""
        for sid, (line, caller) in [*self._lines.items()]:
            if caller in gone:
                self._lines.pop(sid, None)
                self._hang_up(line)

    async def _tell(self) -> None:
        """One message."""
        text = await self._waiting.get()
        for sid, (line, _) in [*self._lines.items()]:
            socket = self._sio.eio.sockets.get(line)
            if socket is None or socket.queue.qsize() >= MOST_WAITING:
                self._lines.pop(sid, None)
                if socket is not None:
                    logger.info("a client of /api was sent away: it does not keep up")
                    self._hang_up(line)
                continue
            with contextlib.suppress(EngineIOError, OSError):  # its connection is just going
                await self._sio.eio.send(line, text)

    async def _connect(self, sid: str, _environ: object, auth: object = None) -> None:
        # What the server itself stored, never what came along with a packet.
        environ = self._sio.get_environ(sid, NAMESPACE)
        try:
            caller = self._access.connects(environ["asgi.scope"], auth)
        except ModeldynoError as error:
            raise Refused(error.title) from error
        if caller is None:
            raise Refused("Wrong or missing token")
        line = self._sio.manager.eio_sid_from_sid(sid, NAMESPACE)
        self._lines[sid] = (line, caller)
        firsts, self._firsts = self._firsts, []
        for tell in firsts:
            asyncio.get_running_loop().call_later(SETTLED_S, tell)

    async def _disconnect(self, sid: str, _reason: object = None) -> None:
        self._lines.pop(sid, None)
