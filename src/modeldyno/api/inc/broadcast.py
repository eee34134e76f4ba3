"""Socket.IO's default namespace, as clients of INC Bench know it: every event to every client.

Events are neither kept nor numbered; a client that was disconnected fetches the lists again. Our
own page listens on ``/v1`` (``api/events.py``).
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
SETTLED_S = 0.5  # clients miss events that arrive before the confirmation of their connection
MOST_WAITING = 500  # messages for one client; one that does not read is disconnected
FAILED = 404  # the code that clients know for any failure; ours is the error_code

Status = Literal["success", "error", "failure"]


class Broadcast:
    """``emit`` may be called from any thread; everything else runs in the loop's."""

    def __init__(self, sio: Any, access: Access, disconnect: Callable[[str], None]) -> None:
        """``disconnect`` ends the Engine.IO connection of that id, without waiting."""
        self._sio = sio
        self._access = access
        self._disconnect = disconnect
        self._connections: dict[str, tuple[str, Caller]] = {}  # by sid: Engine.IO's id, and caller
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._first_client_callbacks: list[Callable[[], None]] = []
        sio.on("connect", self._on_connect, namespace=NAMESPACE)
        sio.on("disconnect", self._on_disconnect, namespace=NAMESPACE)

    def emit(self, event: str, status: Status, data: dict[str, Any]) -> None:
        """To all connected clients, in the order of calls."""
        body = json.dumps([event, {"status": status, "data": data}], separators=(",", ":"))
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._waiting.put_nowait, f"2{body}")

    def on_first_client(self, callback: Callable[[], None]) -> None:
        """Called once, soon after the first client has connected; in the loop's thread, so it must
        be quick."""
        self._first_client_callbacks.append(callback)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        sending = asyncio.create_task(repeat(self._send_next, "the broadcast to clients of /api"))
        try:
            yield
        finally:
            self._loop = None
            sending.cancel()
            self._connections.clear()

    @property
    def callers(self) -> set[Caller]:
        return {caller for _, caller in self._connections.values()}

    def revoke(self, gone: set[Caller]) -> None:
        """Disconnects callers that may no longer listen."""
        for sid, (connection, caller) in [*self._connections.items()]:
            if caller in gone:
                self._connections.pop(sid, None)
                self._disconnect(connection)

    async def _send_next(self) -> None:
        text = await self._waiting.get()
        for sid, (connection, _) in [*self._connections.items()]:
            socket = self._sio.eio.sockets.get(connection)
            if socket is None or socket.queue.qsize() >= MOST_WAITING:
                self._connections.pop(sid, None)
                if socket is not None:
                    logger.info("a client of /api was disconnected: it does not keep up")
                    self._disconnect(connection)
                continue
            with contextlib.suppress(EngineIOError, OSError):  # it is disconnecting
                await self._sio.eio.send(connection, text)

    async def _on_connect(self, sid: str, _environ: object, auth: object = None) -> None:
        # As the server stored it, never what arrived with a packet.
        environ = self._sio.get_environ(sid, NAMESPACE)
        try:
            caller = self._access.identify_socket_client(environ["asgi.scope"], auth)
        except ModeldynoError as error:
            raise Refused(error.title) from error
        if caller is None:
            raise Refused("Wrong or missing token")
        connection = self._sio.manager.eio_sid_from_sid(sid, NAMESPACE)
        self._connections[sid] = (connection, caller)
        callbacks, self._first_client_callbacks = self._first_client_callbacks, []
        for callback in callbacks:
            asyncio.get_running_loop().call_later(SETTLED_S, callback)

    async def _on_disconnect(self, sid: str, _reason: object = None) -> None:
        self._connections.pop(sid, None)


def failure_data(message: str, code: str) -> dict[str, Any]:
    return {"message": message, "code": FAILED, "error_code": code}
